"""The labelled set for memory retrieval: facts and the prompts that should bring each of them back.

Written before any ranking code, and not to be tuned to it. 64 queries: 32 share words with their fact (`SHARED`), 32
share no content word (`DISTINCT`); 16 of the latter cross languages (`CROSSING`). `distractors` makes plausible facts
near the same topics, in both languages, from a seed.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Labelled:
    """A fact and a prompt that needs it."""

    fact: str
    query: str


SHARED: tuple[Labelled, ...] = (
    Labelled(
        "Run the unit tests with `make test TESTS=tests/unit`, never with bare pytest.",
        "how do I run the unit tests in this repository?",
    ),
    Labelled("The staging database is wiped every Monday at 06:00 UTC.", "when is the staging database wiped?"),
    Labelled(
        "Commit messages follow Conventional Commits, with the scope in brackets.",
        "write a commit message for what I changed",
    ),
    Labelled(
        "Sam prefers tabs over spaces in Makefiles and four spaces everywhere else.",
        "should I use tabs or spaces in this file?",
    ),
    Labelled(
        "The production API key lives in 1Password under 'Acme prod'.", "where do we keep the production API key?"
    ),
    Labelled("Releases are tagged from the branch `stable`, not from `main`.", "tag a new release, from which branch?"),
    Labelled(
        "The payment webhook must answer within five seconds or Stripe retries it.",
        "why does Stripe call our payment webhook twice?",
    ),
    Labelled(
        "Generated protobuf code in `gen/` is never edited by hand; run `buf generate`.",
        "the protobuf code is out of date, what now?",
    ),
    Labelled(
        "Feature flags are read from LaunchDarkly, the key is `web-client`.", "add a feature flag for the new cart"
    ),
    Labelled(
        "The nightly backup of Postgres goes to the bucket `acme-backups-eu`.",
        "restore last night's Postgres backup",
    ),
    Labelled("Docker images are built for arm64 and amd64 with buildx.", "build the docker images for amd64 too"),
    Labelled("The user wants answers without emoji.", "please answer shortly and no emoji"),
    Labelled("Python files use double quotes; ruff format enforces it.", "which quotes do we use in Python files?"),
    Labelled(
        "The translation strings are in `locales/`, one JSON file per language, keys sorted.",
        "add a translation string for the logout button",
    ),
    Labelled("Kafka topics are named `<team>.<event>.v<number>`.", "create a Kafka topic for refunds"),
    Labelled("Redis runs on port 6380 on this laptop, because 6379 is taken.", "which port is Redis on?"),
    Labelled(
        "The frontend needs Node 20; Node 22 breaks the sass loader.", "what version of Node does the frontend need?"
    ),
    Labelled("Migrations are reviewed by Ana before they are merged.", "who reviews database migrations?"),
    Labelled(
        "The cron job `prune-sessions` failed once because the disk was full.", "the cron job failed again, look at it"
    ),
    Labelled(
        "Log lines are JSON with the fields ts, level, msg and request_id.", "parse the log lines and count by level"
    ),
    Labelled("运行单元测试要用 `make test`，不要直接用 pytest。", "怎么运行单元测试？"),
    Labelled("预发布环境的数据库每周一早上清空。", "预发布环境的数据库什么时候清空？"),
    Labelled("提交信息用中文写，第一行不超过五十个字。", "帮我写提交信息"),
    Labelled("用户喜欢简短的回答，不要客套话。", "用户喜欢什么样的回答？"),
    Labelled("支付回调接口的超时时间是五秒。", "支付回调的超时时间是多少"),
    Labelled("前端的依赖用 pnpm 安装，不要用 npm。", "安装前端依赖"),
    Labelled("生产环境的日志保留三十天。", "日志保留多久"),
    Labelled("订单表的主键是雪花算法生成的。", "订单表的主键怎么来的"),
    Labelled("接口文档由 swagger 自动生成，放在 docs 目录。", "接口文档放在哪里"),
    Labelled("代码评审至少要两个人同意。", "代码评审要几个人同意"),
    Labelled("缓存的键要带上租户编号做前缀。", "缓存的键怎么命名"),
    Labelled("测试数据库跑在 5433 端口上。", "测试数据库的端口"),
)
"""Fact and query have words in common."""

DISTINCT: tuple[Labelled, ...] = (
    Labelled("Anna is vegetarian and allergic to nuts.", "what food can we order for our colleague's lunch?"),
    Labelled("Deploys are frozen from Friday noon until Monday.", "can I ship this to production over the weekend?"),
    Labelled("The boss hates long meetings.", "keep the discussion with my manager brief"),
    Labelled("Our office is in Berlin.", "which timezone is the team's headquarters, what city?"),
    Labelled("The customer's money amounts are stored as integer cents.", "how are prices saved, float or decimal?"),
    Labelled("The laptop has only eight gigabytes of RAM.", "will a big model fit in this computer's memory?"),
    Labelled("Speak to me like a beginner programmer.", "explain recursion simply, I'm new at coding"),
    Labelled("The CI pipeline takes about forty minutes.", "how long do builds last before they turn green?"),
    Labelled("Passwords are hashed with argon2id.", "which algorithm protects user credentials at login?"),
    Labelled("The mobile app must work without internet.", "does the phone client support offline mode?"),
    Labelled("请把变量名写成英文，不要用拼音。", "标识符该怎么起名？"),
    Labelled("这台机器没有显卡。", "能在本地训练神经网络吗，有 GPU 吗？"),
    Labelled("周五下午禁止上线。", "周末前可以发布新版本吗？"),
    Labelled("老王负责运维，服务器出问题找他。", "机房宕机了该联系谁？"),
    Labelled("金额一律以分为单位存整数。", "价格字段用什么类型保存，浮点还是小数？"),
    Labelled("女儿对花生过敏。", "孩子不能吃哪些食物？"),
)
"""One language, no content word in common."""

CROSSING: tuple[Labelled, ...] = (
    Labelled("The user lives in Shanghai and works at night.", "我住在哪个城市，什么时候上班？"),
    Labelled("Never push directly to the main branch; open a pull request.", "可以直接推送到主分支吗？"),
    Labelled("Error messages must be friendly and say what to do next.", "错误提示应该怎么写？"),
    Labelled("The search index is rebuilt every night at three.", "搜索索引什么时候重建？"),
    Labelled("Uploaded pictures are resized to at most 2000 pixels.", "用户上传的图片会被压缩到多大？"),
    Labelled("Use dark theme in all screenshots.", "截图要用深色主题还是浅色主题？"),
    Labelled("Invoices are sent by email on the first day of the month.", "发票什么时候用邮件寄给客户？"),
    Labelled("Comments in the source code should explain why, not what.", "代码里的注释应该写什么？"),
    Labelled("用户喜欢喝咖啡，不喝茶。", "does the user like coffee or tea?"),
    Labelled("所有时间都用 UTC 保存，显示时再转换成本地时区。", "how should timestamps be saved and shown?"),
    Labelled("删除数据之前必须先备份。", "what must I do before deleting the data?"),
    Labelled("函数不要超过五十行。", "how long may a function be?"),
    Labelled("密码至少要十二个字符。", "what is the minimum password length?"),
    Labelled("这个项目不允许引入新的第三方依赖。", "can I add a new third-party library to this project?"),
    Labelled(
        "客户在日本，文档要翻译成日语。", "which language should the documentation be translated to for our client?"
    ),
    Labelled("服务器在法兰克福的机房里。", "where is the server located?"),
)
"""Asked in the other language."""

Words: TypeAlias = dict[str, tuple[str, ...]]

_EN: Words = {
    "service": (
        "billing",
        "search",
        "gateway",
        "mailer",
        "inventory",
        "reports",
        "profile",
        "catalog",
        "audit",
        "chat",
    ),
    "name": ("Maria", "Tom", "Li Wei", "Priya", "Oleg", "Sofia", "Kenji", "Fatima", "Lars", "Chloe"),
    "tool": ("eslint", "mypy", "black", "cargo", "gradle", "tox", "vite", "terraform", "helm", "bazel"),
    "day": ("Tuesday", "Wednesday", "Thursday", "Saturday", "Sunday"),
    "number": tuple(str(n) for n in (3, 7, 12, 15, 18, 24, 45, 64, 90, 128, 300, 512)),
    "port": tuple(str(n) for n in (3000, 4200, 5000, 5173, 8000, 8081, 8443, 9000, 9200, 15672)),
    "store": ("MySQL", "MongoDB", "Elasticsearch", "S3", "SQLite", "Cassandra", "ClickHouse", "DynamoDB"),
    "folder": ("src/api", "pkg/core", "app/models", "web/pages", "infra", "scripts", "docs", "lib/auth"),
    "food": ("sushi", "pizza", "noodles", "curry", "salad", "tacos"),
    "city": ("Paris", "Madrid", "Toronto", "Seoul", "Austin", "Lagos", "Oslo"),
}
_EN_SHAPES: tuple[str, ...] = (
    "The {service} service listens on port {port}.",
    "The {service} tests need {store} to be running.",
    "Run `{tool}` in `{folder}` before opening a pull request.",
    "{name} owns the {service} service and reviews changes in `{folder}`.",
    "The {service} database is moved to {store} on {day}.",
    "Backups of the {service} data are kept for {number} days in {store}.",
    "{name} likes {food} and lives in {city}.",
    "{name} works from {city} and is off on {day}.",
    "The {service} service times out after {number} seconds.",
    "Release notes of {service} are written by {name} on {day}.",
    "Use `{tool}` version {number} for `{folder}`; newer ones fail.",
    "The {service} logs are shipped to {store} and kept {number} days.",
    "The {service} API allows {number} requests a minute for each key.",
    "Code in `{folder}` is formatted with {tool}, lines up to {number} characters.",
    "The user prefers {tool} over other tools in `{folder}`.",
    "{name} wants short reports about {service} every {day}.",
    "Images of the {service} page are cached for {number} minutes.",
    "The {service} job runs every {day} and takes {number} minutes.",
    "Passwords for the {service} admin page are rotated after {number} days.",
    "The {service} screens are translated by {name}.",
)
_ZH: Words = {
    "service": ("账单", "搜索", "网关", "邮件", "库存", "报表", "用户", "商品", "审计", "聊天"),
    "name": ("小李", "张伟", "王芳", "刘洋", "陈静", "赵磊", "孙悦", "周婷", "吴昊", "郑爽"),
    "tool": ("eslint", "mypy", "maven", "cargo", "gradle", "vite", "terraform", "helm"),
    "day": ("周二", "周三", "周四", "周六", "周日"),
    "number": tuple(str(n) for n in (3, 7, 12, 15, 18, 24, 45, 64, 90, 128, 300, 512)),
    "port": tuple(str(n) for n in (3000, 4200, 5000, 5173, 8000, 8081, 8443, 9000)),
    "store": ("MySQL", "MongoDB", "Elasticsearch", "对象存储", "SQLite", "ClickHouse", "消息队列"),
    "folder": ("src/api", "pkg/core", "app/models", "web/pages", "infra", "scripts", "lib/auth"),
    "food": ("寿司", "披萨", "面条", "咖喱", "火锅", "饺子"),
    "city": ("北京", "深圳", "杭州", "成都", "首尔", "巴黎", "多伦多"),
}
_ZH_SHAPES: tuple[str, ...] = (
    "{service}服务监听 {port} 端口。",
    "{service}模块的测试需要先启动 {store}。",
    "提交前要在 `{folder}` 里运行 `{tool}`。",
    "{name}负责{service}服务，也评审 `{folder}` 的改动。",
    "{service}的数据{day}迁移到 {store}。",
    "{service}数据的备份在 {store} 保留 {number} 天。",
    "{name}喜欢吃{food}，住在{city}。",
    "{name}在{city}办公，{day}休息。",
    "{service}服务的超时时间是 {number} 秒。",
    "{service}的发布说明由{name}在{day}写。",
    "`{folder}` 只能用 {tool} 的 {number} 版本。",
    "{service}的日志写到 {store}，保留 {number} 天。",
    "{service}接口每分钟最多 {number} 次请求。",
    "`{folder}` 的代码用 {tool} 格式化，每行最多 {number} 个字符。",
    "用户在 `{folder}` 里更喜欢用 {tool}。",
    "{name}希望每{day}收到一份{service}的简报。",
    "{service}页面的图片缓存 {number} 分钟。",
    "{service}任务每{day}运行，大约要 {number} 分钟。",
    "{service}后台的密码每 {number} 天更换一次。",
    "{service}界面的翻译找{name}。",
)


def distractors(count: int, seed: int = 20_261_130) -> list[str]:
    """`count` different facts that answer none of the queries, half of them Chinese; the same ones for one seed."""
    rng = random.Random(seed)
    english, chinese = _endless(rng, _EN_SHAPES, _EN), _endless(rng, _ZH_SHAPES, _ZH)
    numbered: Callable[[int], str] = lambda n: f" (ticket {n})" if n % 2 == 0 else f"（工单 {n}）"  # noqa: E731
    made: dict[str, None] = {}
    for n in range(count):
        text = next(english if n % 2 == 0 else chinese)
        for _ in range(50):
            if text not in made:
                break
            text = next(english if n % 2 == 0 else chinese)
        made[text if text not in made else text + numbered(n)] = None
    return list(made)


def _endless(rng: random.Random, shapes: tuple[str, ...], words: Words) -> Iterator[str]:
    while True:
        yield rng.choice(shapes).format(**{slot: rng.choice(choices) for slot, choices in words.items()})
