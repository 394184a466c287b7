# ruff: noqa: T201 - a program: it prints
"""Prints CPU load, memory, disk, uptime and the busiest processes. Standard library only; never fails as a whole."""

from __future__ import annotations

import argparse
import csv
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

UNKNOWN = "unknown"
GIB = 1024**3


def output_of(*command: str) -> str:
    """What a program prints, at most 5 seconds; "" when there is none."""
    try:
        done = subprocess.run(command, capture_output=True, timeout=5, stdin=subprocess.DEVNULL, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.decode("utf-8", "replace")


def powershell(script: str) -> str:
    return output_of("powershell", "-NoProfile", "-NonInteractive", "-Command", script).strip()


def share(free: float, total: float) -> str:
    """`3.1 GiB free of 15.5 GiB (20 %)`"""
    return f"{free / GIB:.1f} GiB free of {total / GIB:.1f} GiB ({100 * free / total:.0f} %)"


def meminfo() -> dict[str, int]:
    """Linux: bytes by name."""
    rows = re.findall(r"^(\w+):\s+(\d+) kB", Path("/proc/meminfo").read_text(encoding="ascii"), re.MULTILINE)
    return {name: int(size) * 1024 for name, size in rows}


def vm_stat() -> tuple[int, int]:
    """macOS: free and total bytes."""
    text = output_of("vm_stat")
    page = int(re.search(r"page size of (\d+)", text)[1])
    pages = {name: int(count) for name, count in re.findall(r"Pages ([\w ]+):\s+(\d+)", text)}
    free = sum(pages.get(name, 0) for name in ("free", "inactive", "speculative", "purgeable"))
    return free * page, int(output_of("sysctl", "-n", "hw.memsize"))


def windows_memory() -> tuple[int, int]:
    text = powershell(
        '$o=Get-CimInstance Win32_OperatingSystem; "$($o.FreePhysicalMemory) $($o.TotalVisibleMemorySize)"'
    )
    free, total = text.split()
    return int(free) * 1024, int(total) * 1024


def cpu() -> str:
    return f"{os.cpu_count() or UNKNOWN} CPUs, {platform.machine()}"


def load() -> str:
    if sys.platform == "win32":
        percent = powershell("(Get-CimInstance Win32_Processor | Measure-Object LoadPercentage -Average).Average")
        return f"{float(percent):.0f} %"
    one, five, fifteen = os.getloadavg()
    return f"{one:.2f} {five:.2f} {fifteen:.2f} (1, 5, 15 minutes)"


def memory() -> str:
    if sys.platform == "linux":
        sizes = meminfo()
        return share(sizes.get("MemAvailable", sizes["MemFree"]), sizes["MemTotal"])
    return share(*(windows_memory() if sys.platform == "win32" else vm_stat()))


def swap() -> str:
    if sys.platform == "linux":
        sizes = meminfo()
        return share(sizes["SwapFree"], sizes["SwapTotal"]) if sizes["SwapTotal"] else "none"
    if sys.platform == "darwin":
        return output_of("sysctl", "-n", "vm.swapusage").strip() or UNKNOWN
    return UNKNOWN


def disk() -> str:
    place = Path.cwd()
    found = shutil.disk_usage(place)
    return f"{share(found.free, found.total)} at {place.anchor or place}"


def uptime() -> str:
    if sys.platform == "linux":
        seconds = float(Path("/proc/uptime").read_text(encoding="ascii").split()[0])
    elif sys.platform == "darwin":
        seconds = time.time() - int(re.search(r"sec = (\d+)", output_of("sysctl", "-n", "kern.boottime"))[1])
    else:
        seconds = float(
            powershell("(New-TimeSpan (Get-CimInstance Win32_OperatingSystem).LastBootUpTime).TotalSeconds")
        )
    minutes = int(seconds // 60)
    return f"{minutes // 1440} d {minutes // 60 % 24} h {minutes % 60} min"


def linux_processes(count: int) -> list[str]:
    """From /proc: by CPU time since their start, where there is no `ps`."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = stat.read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        name, fields = text[text.index("(") + 1 : text.rindex(")")], text[text.rindex(")") + 2 :].split()
        ticks, pages = int(fields[11]) + int(fields[12]), int(fields[21])
        size = pages * os.sysconf("SC_PAGE_SIZE") // 1024**2
        found.append((ticks / os.sysconf("SC_CLK_TCK"), f"{stat.parent.name} {name} {size} MiB"))
    return [f"{text}, {seconds:.0f} s CPU" for seconds, text in sorted(found, reverse=True)[:count]]


def processes(count: int) -> list[str]:
    """The busiest processes, one a line."""
    if sys.platform == "win32":
        text = powershell(
            f"Get-Process | Sort-Object CPU -Descending | Select-Object -First {count} Id,ProcessName,CPU,WorkingSet64"
            " | ConvertTo-Csv -NoTypeInformation"
        )
        rows = list(csv.reader(text.splitlines()))[1:]
        return [f"{row[0]} {row[1]} {int(row[3]) // 1024**2} MiB, {row[2]} s CPU" for row in rows]
    rows = []
    for line in output_of("ps", "-Ao", "pid=,pcpu=,rss=,comm=").splitlines():
        pid, percent, size, name = line.split(None, 3)
        if pid == str(os.getpid()) or name == "ps":
            continue  # the measurement itself
        rows.append((float(percent.replace(",", ".")), f"{pid} {Path(name).name} {int(size) // 1024} MiB"))
    if not rows and sys.platform == "linux":
        return linux_processes(count)
    return [f"{text}, {percent:.1f} % CPU" for percent, text in sorted(rows, reverse=True)[:count]]


def attempt(measure, *args):
    """One figure, or `unknown`: a computer that hides one thing still tells the rest."""
    try:
        return measure(*args)
    except Exception:  # noqa: BLE001 - whatever a platform does to one figure, the others must arrive
        return UNKNOWN


def report(top: int) -> dict[str, object]:
    """Every figure by name."""
    values: dict[str, object] = {"system": attempt(lambda: f"{platform.system()} {platform.release()}")}
    for measure in (cpu, load, memory, swap, disk, uptime):
        values[measure.__name__] = attempt(measure)
    values["processes"] = attempt(processes, top) if top else []
    return values


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description="The state of this computer.")
    parser.add_argument("--top", type=int, default=5, help="how many processes, 0 to 20")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(argv)
    if os.environ.get("SKILL_INPUT") == "json":
        options.top = int(json.load(sys.stdin).get("top", options.top))
    values = report(max(0, min(20, options.top)))
    if options.json:
        print(json.dumps(values, ensure_ascii=False))
        return 0
    listed = values.pop("processes")
    print("\n".join(f"{key}: {value}" for key, value in values.items()))
    if listed == UNKNOWN:
        print(f"busiest: {UNKNOWN}")
    elif listed:
        print("busiest:\n" + "\n".join(f"  {row}" for row in listed))
    return 0


if __name__ == "__main__":
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8")
    sys.exit(main(sys.argv[1:]))
