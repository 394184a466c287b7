"""A second labelled set for memory retrieval, other topics than `retrieval_set`: never to be tuned to.

Written without a look at the ranking code. Same make-up: 32 queries share words with their fact, 32 share no content
word, 16 of the latter ask in the other language. `near` makes facts close to the same topics.
"""

from __future__ import annotations

import random

from tests.unit.memory.retrieval_set import Labelled, Words

SHARED: tuple[Labelled, ...] = (
    Labelled(
        "Charts in the quarterly report use the colour-blind safe palette viridis.", "draw the quarterly revenue chart"
    ),
    Labelled(
        "Firmware for the thermostat is flashed with `probe-rs run --chip STM32L4`.",
        "flash the firmware onto the thermostat board",
    ),
    Labelled("The thesis is written in LaTeX and built with latexmk -lualatex.", "compile my thesis"),
    Labelled("Font sizes in the design system step by a ratio of 1.2.", "which font size comes after 16px?"),
    Labelled("SSH to the cluster goes through the bastion host jump.lab.example.", "ssh into the cluster"),
    Labelled(
        "Training runs are tracked in MLflow under the experiment `bird-calls`.",
        "where can I see yesterday's training runs?",
    ),
    Labelled(
        "The wildcard certificate is renewed by hand every March.", "our certificate expires soon, what do we do?"
    ),
    Labelled("GraphQL resolvers must use dataloaders, one query per request.", "write a GraphQL resolver for comments"),
    Labelled("Grandmother's birthday is on the ninth of May.", "remind me when grandmother has her birthday"),
    Labelled(
        "The greenhouse sensors report humidity over LoRa each quarter of an hour.",
        "the humidity sensor values look old",
    ),
    Labelled(
        "Terraform state is locked in the workspace `network-core`; ask before forcing.",
        "terraform says the state is locked",
    ),
    Labelled("Subtitles are exported as WebVTT, never as SRT.", "export the subtitles of episode four"),
    Labelled("The user pays taxes in Portugal as a freelancer.", "how high are my taxes this year?"),
    Labelled(
        "Level geometry in the game is loaded from Tiled maps in `assets/levels`.", "add a secret level to the game"
    ),
    Labelled("CSV files from the bank are encoded in Latin-1 and separated by semicolons.", "read the bank's csv file"),
    Labelled(
        "The drone's camera has a rolling shutter, so panorama stitching needs correction.",
        "stitch a panorama from the drone pictures",
    ),
    Labelled(
        "Accessibility checks run with axe-core on each story in Storybook.",
        "the accessibility check fails for the modal",
    ),
    Labelled("Vocabulary cards are reviewed with Anki, deck `Finnish B1`.", "make vocabulary cards from this text"),
    Labelled("Rust crates in the workspace forbid unsafe code.", "may I use unsafe in this Rust crate?"),
    Labelled("The lab's microscope saves OME-TIFF stacks with eleven channels.", "open a stack from the microscope"),
    Labelled("论文的参考文献用 GB/T 7714 格式。", "整理论文的参考文献"),
    Labelled("小程序的包体积不能超过两兆。", "小程序的体积太大了怎么办"),
    Labelled("无人机的电池充满要四十分钟。", "无人机电池充多久"),
    Labelled("推荐模型的训练数据放在 NAS 的 rec 目录里。", "推荐模型的训练数据在哪"),
    Labelled("游戏里的角色动画用 Spine 制作。", "给角色加一个跳跃动画"),
    Labelled("公司的报销单每月二十五号截止。", "报销单什么时候截止"),
    Labelled("合同模板由法务部的林律师保管。", "我要一份合同模板"),
    Labelled("地图组件用的是高德，不是百度。", "地图组件换个样式"),
    Labelled("课程视频统一剪成八分钟一段。", "剪辑课程视频"),
    Labelled("用户的笔记都写在 Obsidian 里，用双链。", "帮我整理笔记"),
    Labelled("仿真要用单精度，双精度会爆显存。", "仿真用单精度还是双精度"),
    Labelled("打印机的喷嘴是零点六毫米的。", "3D 打印机的喷嘴多大"),
)
"""Fact and query have words in common."""

DISTINCT: tuple[Labelled, ...] = (
    Labelled("My wife is pregnant and due in June.", "are we free to travel this summer, with the baby coming?"),
    Labelled("The violin lessons take place each Wednesday evening.", "when do I practise music with my teacher?"),
    Labelled(
        "All furniture must fit through a door of seventy centimetres.", "is this sofa too wide to get inside the flat?"
    ),
    Labelled("Our telescope has an aperture of 200 mm.", "can we observe Saturn's rings with the equipment at home?"),
    Labelled(
        "Illustrations come from a freelance artist named Beatriz.", "who draws pictures for the children's book?"
    ),
    Labelled(
        "The car is electric and gets 300 km per charge.", "how far does my vehicle go before the battery is empty?"
    ),
    Labelled(
        "Kubernetes pods are killed when they exceed 512 MiB.", "container restarted with OOM, what is its RAM limit?"
    ),
    Labelled("Reviewers want each claim backed by a citation.", "should this statement in the paper have a reference?"),
    Labelled("Python below 3.12 is unsupported.", "may I rely on an older interpreter release?"),
    Labelled("The dog needs its medicine twice daily.", "how often should I give the pet its pills?"),
    Labelled("妈妈不会用智能手机。", "怎么教老人视频通话？"),
    Labelled("花园里的土壤偏酸。", "院子适合种蓝莓吗？"),
    Labelled("演讲只有十分钟。", "这份幻灯片要做多少页？"),
    Labelled("我骑自行车通勤。", "我每天怎么去公司？"),
    Labelled("这台相机不支持夜间拍摄。", "晚上能用它照星空吗？"),
    Labelled("乐谱都用 MuseScore 排版。", "用什么软件编辑五线谱？"),
)
"""One language, no content word in common."""

CROSSING: tuple[Labelled, ...] = (
    Labelled("The user plays the piano and is learning jazz.", "我在学什么乐器？"),
    Labelled("Interview recordings must be deleted after transcription.", "采访录音转写完以后怎么处理？"),
    Labelled("The museum's opening hours are printed on the back of the ticket.", "博物馆几点开门，写在哪里？"),
    Labelled("Robots in the warehouse may not drive faster than one metre a second.", "仓库机器人的最高速度是多少？"),
    Labelled("Plants on the balcony are watered on Sunday.", "阳台上的植物什么时候浇水？"),
    Labelled("Hotel bookings need approval from the finance department.", "出差订酒店需要谁批准？"),
    Labelled("Every chapter of the novel ends with a letter.", "小说每一章怎么结尾？"),
    Labelled("The 3D printer only accepts STL files.", "三维打印机支持什么文件格式？"),
    Labelled("奶奶住在养老院，周末去看她。", "where does my grandmother live?"),
    Labelled("视频一律用 H.265 编码，分辨率 1080p。", "which codec and resolution should the movie be encoded with?"),
    Labelled("学生的成绩单不能发给第三方。", "may I share students' grades with other people?"),
    Labelled("飞机票要提前两周买。", "when should the flight tickets be bought?"),
    Labelled("地震数据的采样率是一百赫兹。", "what is the sampling rate of the seismic data?"),
    Labelled("厨房在装修，下个月之前不能做饭。", "can I cook at home this week?"),
    Labelled("编译器的警告都当成错误处理。", "what should happen with compiler warnings?"),
    Labelled("游戏的存档要兼容上一个版本。", "must old savegames still load?"),
)
"""Asked in the other language."""

_EN: Words = {
    "thing": ("drone", "microscope", "printer", "camera", "telescope", "thermostat", "robot", "sensor", "piano", "car"),
    "work": (
        "thesis",
        "novel",
        "podcast",
        "game",
        "lecture",
        "museum guide",
        "cookbook",
        "board game",
        "atlas",
        "film",
    ),
    "person": ("Beatriz", "my brother", "the landlord", "Ingrid", "the doctor", "Hassan", "our neighbour", "Mei"),
    "format": ("WebVTT", "STL", "OME-TIFF", "GeoJSON", "EPUB", "FLAC", "Parquet", "SVG", "MIDI", "HDF5"),
    "when": ("in March", "on Friday", "twice a month", "each evening", "after lunch", "before noon", "in winter"),
    "number": tuple(str(n) for n in (2, 5, 9, 14, 20, 33, 48, 75, 110, 240, 600)),
    "place": ("the garage", "Lisbon", "the attic", "the basement lab", "Kyoto", "the library", "the balcony"),
}
_EN_SHAPES: tuple[str, ...] = (
    "The {thing} is kept in {place} and used by {person} {when}.",
    "Files for the {work} are saved as {format}.",
    "The {thing} can take a load of {number} kilograms.",
    "{person} edits the {work} {when}.",
    "The {thing}'s battery lasts {number} minutes.",
    "Each part of the {work} is at most {number} pages long.",
    "The {thing} is calibrated {when} by {person}.",
    "{person} plays tennis {when}.",
    "The {work} is backed up to {place} as {format}.",
    "Invite {person} to the review of the {work} {when}.",
    "{person} is allergic to pollen and stays in {place} {when}.",
    "The warranty of the {thing} ends after {number} months.",
    "Tickets for the {work} cost {number} euros.",
    "Data of the {thing} is exported to {format} {when}.",
    "The rent for {place} is paid {when}.",
    "The {work} has {number} readers in {place}.",
)
_ZH: Words = {
    "thing": ("无人机", "显微镜", "打印机", "相机", "望远镜", "温控器", "机器人", "传感器", "钢琴", "汽车"),
    "work": ("论文", "小说", "播客", "游戏", "讲座", "导览手册", "菜谱", "桌游", "地图集", "短片"),
    "person": ("林律师", "弟弟", "房东", "英英", "医生", "老韩", "邻居", "小梅"),
    "format": ("WebVTT", "STL", "OME-TIFF", "GeoJSON", "EPUB", "FLAC", "Parquet", "SVG", "MIDI"),
    "when": ("三月", "周五", "每月两次", "每天晚上", "午饭后", "中午之前", "冬天"),
    "number": tuple(str(n) for n in (2, 5, 9, 14, 20, 33, 48, 75, 110, 240, 600)),
    "place": ("车库", "里斯本", "阁楼", "地下实验室", "京都", "图书馆", "阳台"),
}
_ZH_SHAPES: tuple[str, ...] = (
    "{thing}放在{place}，{person}{when}使用。",
    "{work}的文件保存为 {format}。",
    "{thing}最多承重 {number} 公斤。",
    "{person}{when}修改{work}。",
    "{thing}的续航是 {number} 分钟。",
    "{work}每一部分最多 {number} 页。",
    "{thing}由{person}{when}校准。",
    "{person}{when}打网球。",
    "{work}以 {format} 格式备份到{place}。",
    "{when}请{person}来评审{work}。",
    "{person}对花粉过敏，{when}待在{place}。",
    "{thing}的保修期是 {number} 个月。",
    "{work}的门票是 {number} 欧元。",
    "{thing}的数据{when}导出为 {format}。",
    "{place}的租金{when}支付。",
    "{work}在{place}有 {number} 位读者。",
)


def near(count: int, seed: int = 7_041_776) -> list[str]:
    """`count` different facts near these topics that answer none of the queries, every second one Chinese."""
    rng = random.Random(seed)
    made: dict[str, None] = {}
    while len(made) < count:
        shapes, words = (_ZH_SHAPES, _ZH) if len(made) % 2 else (_EN_SHAPES, _EN)
        made[rng.choice(shapes).format(**{slot: rng.choice(choices) for slot, choices in words.items()})] = None
    return list(made)
