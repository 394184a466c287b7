"""Models for tests: each looks at its task and its results and knows what to do next."""

from __future__ import annotations

import re

from tests.fakes.api_servers.talk import Call, Heard, Said, Turn

ADD = "Task: add up apples.txt and pears.txt and write the sum into total.txt"
COMPARE = "Task: which city is warmer, Beijing or Shanghai?"


def adds_up(heard: Heard) -> Said:
    """Reads two files in one step, writes their sum with a command, answers with all three figures."""
    results = list(heard.results)
    if not results:
        calls = (Call("read_file", {"path": "apples.txt"}), Call("read_file", {"path": "pears.txt"}))
        return Said("I read both files.", calls, "Two files, and neither depends on the other.")
    if len(results) == 1:
        return Said(f"I wanted two files and got one: {results[0].text}")
    first, second = (_number_in(result) for result in results[:2])
    if len(results) == 2:
        command = f"echo {first + second} > total.txt && echo wrote $(cat total.txt)"
        return Said("I write the sum.", (Call("run_shell_command", {"command": command}),), f"{first} + {second}")
    wrote = re.search(r"wrote (\d+)", results[2].text)
    return Said(f"apples: {first}, pears: {second}, total: {wrote and wrote.group(1)}", thinking="All is there.")


def compares_weather(heard: Heard) -> Said:
    """The scenario of the seeds: the weather of two cities, asked together or one by one, then a comparison."""
    results = heard.results
    cities = re.findall(r"Beijing|Shanghai", heard.task)
    if len(results) < len(cities):
        calls = tuple(Call("get_weather", {"city": city}) for city in cities[len(results) :])
        return Said("I ask for the weather.", calls, "I know no weather by heart.")
    degrees = [_number_in(result) for result in results]
    warmer = max(zip(degrees, cities, strict=True))
    return Said(f"{warmer[1]} is warmer: {degrees[0]} °C against {degrees[1]} °C.", thinking="Compare.")


def obeys(heard: Heard) -> Said:
    """Does what the task spells out: steps between `;`, calls of a step between `&`, each `tool key=value`.

    `answer` ends it with the results; `hang` begins an answer and never ends it.
    """
    steps = [step.strip() for step in heard.task.split(";")]
    done = len(heard.results)
    for number, step in enumerate(steps, 1):
        if step == "hang":
            return Said("I was saying that", thinking=f"Thought {number}, unfinished.", hang=True)
        calls = tuple(_call(text) for text in step.split("&")) if step != "answer" else ()
        if done < len(calls):
            return Said(f"Step {number}.", calls, f"Thought {number}.")
        done -= len(calls)
    told = " | ".join(" ".join(result.text.split())[:60] for result in heard.results)
    return Said(f"Done: {told or 'nothing to do'}. Pictures: {sum(t.images for t in heard.turns)}.", thinking="Over.")


def _call(text: str) -> Call:
    name, *pairs = text.strip().split(" ")
    return Call(name, {key: value for key, _, value in (pair.partition("=") for pair in pairs)})


def _number_in(result: Turn) -> int:
    found = re.search(r"(?:apples|pears|degrees)\D*(\d+)", result.text)
    assert found is not None, f"no number in {result.text!r}"
    return int(found.group(1))
