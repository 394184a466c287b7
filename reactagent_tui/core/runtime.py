"""The composition root: the only place where objects are built. One Runtime, many sessions, one event loop.

Single-threaded: everything here runs in the loop that made it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from pathlib import Path

from reactagent_tui.core.checkpoints.opening import rewinder_of
from reactagent_tui.core.config.loader import LoadedConfig, Overrides, load_config
from reactagent_tui.core.cost.booking import Booking
from reactagent_tui.core.cost.budget import Budget, Scope, from_record
from reactagent_tui.core.cost.cache_tag import CacheWatch
from reactagent_tui.core.cost.ledger import Ledger, LedgerRow
from reactagent_tui.core.cost.pricing import PriceBook
from reactagent_tui.core.cost.usage_log import UsageLog
from reactagent_tui.core.errors import ConfigError
from reactagent_tui.core.events import Notice, TodayChanged
from reactagent_tui.core.live import LiveSession
from reactagent_tui.core.llm.base import ChatProvider
from reactagent_tui.core.llm.calibration import Calibration
from reactagent_tui.core.llm.http import HttpPool
from reactagent_tui.core.llm.local_models import LocalChoice, with_local
from reactagent_tui.core.llm.local_servers import LocalServer
from reactagent_tui.core.llm.pacing import Pacers
from reactagent_tui.core.llm.registry import ModelChoice, Resolved, list_models, make_provider, resolve_model
from reactagent_tui.core.llm.vocabulary import Vocabulary
from reactagent_tui.core.local_watch import LocalWatch
from reactagent_tui.core.log import Redactor, open_debug_log, open_log
from reactagent_tui.core.paths import Paths, user_paths
from reactagent_tui.core.prompt.composer import PromptParts, compose, join
from reactagent_tui.core.prompt.project import instruction_files
from reactagent_tui.core.prompt_gate import open_gate
from reactagent_tui.core.react.debug import DebugSteps
from reactagent_tui.core.react.gates import Limits
from reactagent_tui.core.react.two_phase import TwoPhaseThinking
from reactagent_tui.core.reporter import Reporter
from reactagent_tui.core.safety.permissions import Permissions
from reactagent_tui.core.safety.workspace import Workspace
from reactagent_tui.core.sandboxing import Kind, begin_sandbox
from reactagent_tui.core.sessions.store import SessionFile, SessionStore
from reactagent_tui.core.sessions.usage_rows import skill_of
from reactagent_tui.core.skills.loader import SkillLibrary, SkillSource, default_sources
from reactagent_tui.core.tools.builtin import POLLING, builtin_tools
from reactagent_tui.core.tools.jobs import Keep
from reactagent_tui.core.tools.places import PathLocks
from reactagent_tui.core.tools.process import sweep_all
from reactagent_tui.core.tools.shell_env import PROVIDER_KEYS
from reactagent_tui.core.tools.skills import skill_tools
from reactagent_tui.core.tools.toolkit import Toolkit

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Options:
    """What a front end decides before anything is built."""

    config_file: Path | None = None
    overrides: Overrides = field(default_factory=Overrides)
    demo: bool = False
    debug_file: Path | None = None
    """Where `--debug` logs."""
    trusted: bool = False
    """What the folder itself brings may run."""
    sandbox: Kind | None = None
    """Of `--sandbox`; None: what the configuration says."""


@dataclass
class Runtime:
    """Configuration, providers, skills and open sessions of one process."""

    loaded: LoadedConfig
    paths: Paths
    reporter: Reporter
    options: Options = Options()
    env: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    sessions: dict[str, LiveSession] = field(default_factory=dict[str, LiveSession])
    calibration: Calibration = field(default_factory=Calibration)
    _vocabulary: Vocabulary | None = None
    _usage: UsageLog | None = None
    _http: HttpPool = field(default_factory=HttpPool)
    _pacers: Pacers = field(default_factory=Pacers)
    _secrets: list[str] = field(default_factory=list[str])
    _handlers: list[logging.Handler] = field(default_factory=list[logging.Handler])
    _locks: PathLocks = field(default_factory=PathLocks)
    _providers: dict[str, ChatProvider] = field(default_factory=dict[str, ChatProvider])
    _skills: dict[Path, SkillLibrary] = field(default_factory=dict[Path, SkillLibrary])
    _instructions: dict[str, tuple[tuple[str, str], ...]] = field(
        default_factory=dict[str, tuple[tuple[str, str], ...]]
    )

    def __post_init__(self) -> None:
        self._local = LocalWatch(self.loaded, self._http, self._window_told)

    @classmethod
    def load(cls, reporter: Reporter, options: Options, env: Mapping[str, str] | None = None) -> Runtime:
        """Read the configuration and build the runtime. Raises ConfigError."""
        env = dict(os.environ) if env is None else env
        paths = user_paths(env)
        try:
            loaded = load_config(explicit=options.config_file, env=env, paths=paths, flags=options.overrides)
        except ConfigError:
            if not options.demo:
                raise
            # a broken config never stops the demo; the flags still count
            loaded = load_config(
                explicit=None,
                env={},
                paths=Paths(paths.cache / "none", paths.state, paths.cache),
                flags=options.overrides,
            )
        calibration = Calibration(paths.calibration)
        runtime = cls(loaded, paths, reporter, options, env, calibration=calibration)
        runtime._open_log()
        return runtime

    # -- models -----------------------------------------------------------------------------

    def resolve(self, name: str | None = None) -> Resolved:
        """The model `name` (or the configured one) with its endpoint. Raises ConfigError."""
        if name is None and self._local.stand_in is not None:
            name = self._local.stand_in.name
        return resolve_model(self.loaded, "demo" if self.options.demo and name is None else name)

    def has_model(self) -> bool:
        """Is a model configured, with what it needs to be called?"""
        try:
            self.resolve()
        except ConfigError:
            return self.loaded.config.model is not None or self.loaded.config.provider is not None
        return True

    def provider(self, name: str | None = None) -> ChatProvider:
        """A provider for a model; made once. Raises ConfigError."""
        resolved = self.resolve(name)
        key = repr(resolved.info)  # two entries of the configuration may name one model, each with its own settings
        if key not in self._providers:
            self._secrets.append(resolved.endpoint.api_key)
            provider = self._providers[key] = make_provider(resolved, self._http, self._pacers)
            self._local.watch(provider)
        return self._providers[key]

    def vocabulary(self) -> Vocabulary:
        """What finds out how models count; the same one always."""
        if self._vocabulary is None:
            self._vocabulary = Vocabulary(self.calibration, download=self.loaded.config.tokens.download)
        return self._vocabulary

    def models(self) -> list[ModelChoice]:
        """Models the picker offers: configured ones, those of providers with a key, and the demo."""
        return list(with_local(list_models(self.loaded), self._local.servers))

    # -- servers of this machine ------------------------------------------------------------

    async def find_servers(self) -> tuple[LocalServer, ...]:
        """Look for model servers on this machine; `models` lists theirs from now on. Takes at most half a second."""
        return await self._local.find()

    async def use_local_server(self) -> LocalChoice | None:
        """When nothing is configured and a server of this machine answers: its model is the model from now on."""
        if self.options.demo:
            return None
        try:
            self.resolve()
        except ConfigError:
            await self._local.choose()
        return self._local.stand_in

    async def windows_known(self) -> None:
        """Until the servers of this machine have said how large their windows are, or were silent for too long."""
        await self._local.windows_known()

    def _window_told(self, provider: ChatProvider) -> None:
        for session in self.sessions.values():
            if session.provider is provider:
                session.window_told()

    def config_lines(self) -> list[tuple[str, str, str]]:
        """(key, value, origin) of every setting, keys masked."""
        lines = [(line.key, line.value, line.origin) for line in self.loaded.masked()]
        return [("demo", "true", "--demo, or no model"), *lines] if self.options.demo else lines

    # -- skills -----------------------------------------------------------------------------

    def skills(self, workdir: Path) -> SkillLibrary:
        """The skills that count in a folder; read again when a file changed."""
        library = self._skills.get(workdir)
        if library is None:
            disabled = self.loaded.config.skills.disabled
            library = self._skills[workdir] = SkillLibrary(self._skill_sources(workdir), disabled=disabled)
        else:
            library.reload_if_changed()
        return library

    def _skill_sources(self, workdir: Path) -> tuple[SkillSource, ...]:
        home = Path(self.env.get("HOME") or Path.home())
        extra = tuple(SkillSource(Path(d).expanduser(), "user") for d in self.loaded.config.skills.directories)
        return default_sources(self.paths, home, workdir) + extra

    # -- sessions ---------------------------------------------------------------------------

    @property
    def store(self) -> SessionStore:
        return SessionStore.at(self.paths)

    def open_session(
        self, workdir: Path, *, resume: SessionFile | None = None, model: str | None = None
    ) -> LiveSession:
        """A new session in `workdir`, or a resumed one in its own folder. Raises ConfigError."""
        config = self.loaded.config
        if resume is not None and resume.id in self.sessions:
            resume.close()
            return self.sessions[resume.id]  # found by its title or the start of its id: one file, one writer
        if resume is not None:
            recorded = Path(resume.header.workdir)
            workdir = recorded if recorded.is_dir() else workdir
        workdir = Path(os.path.realpath(workdir))
        provider = self.provider(model)
        mode = config.permissions.mode
        file = resume or self.store.create(workdir, model=provider.info.name, mode=mode)
        roots = Workspace.at(
            workdir, tuple(Path(d).expanduser() for d in config.permissions.additional_directories)
        ).roots
        ledger = self._ledger(file)
        cache = CacheWatch(self.calibration)
        cache.restore(ledger.rows)
        session = LiveSession(
            file=file,
            workdir=workdir,
            reporter=self.reporter,
            provider=provider,
            toolkit=self._toolkit(workdir),
            permissions=Permissions(
                mode,
                roots,
                allow=config.permissions.allow,
                ask=config.permissions.ask,
                deny=config.permissions.deny,
                readable=(file.folder, *(source.path for source in self._skill_sources(workdir))),
            ),
            ledger=ledger,
            calibration=self.calibration,
            cache=cache,
            system=self._system,
            limits=Limits(
                max_steps=config.limits.max_steps,
                seconds=config.limits.timeout,
                tokens=config.limits.max_tokens,
            ),
            budget=self._budget(file, ledger),
            fallback_models=config.fallback_models,
            make_provider=self.provider,
            two_phase=TwoPhaseThinking(config.two_phase),
            loop_window=config.limits.loop_window,
            polling=POLLING,
            debug=self._debug(file.id),
            before_turn=self.fresh_instructions,
        )
        self.vocabulary().learn(provider.info, lambda: session.system(session))
        file.on_trouble = lambda text: self.reporter.emit(
            Notice(session_id=file.id, key="session.unsaved", params={"text": text}, level="error")
        )
        session.rewinder = rewinder_of(session, roots, self.paths)
        if resume is not None:
            session.jobs.restore(resume.events)
        session.gate = open_gate(session, config.hooks, self._key_variables, trusted=self.options.trusted)
        self.sessions[session.id] = session
        return session

    async def begin_sandbox(self, session: LiveSession) -> None:
        """Give a session that was just opened its sandbox. Raises SandboxError."""
        await begin_sandbox(session, self.loaded.config.sandbox, self.paths, self.options.sandbox)

    def fresh_instructions(self, session: LiveSession) -> None:
        """Read instruction files again for the next turn of this session."""
        self._instructions.pop(session.id, None)

    async def close_session(self, session_id: str, keep_jobs: Keep = "kept") -> None:
        session = self.sessions.pop(session_id, None)
        if session is not None:
            await session.close(keep_jobs)

    async def close(self, keep_jobs: Keep = "kept") -> None:
        """Stop every run, close every file and connection, end every process a tool left behind but kept jobs."""
        for session_id in list(self.sessions):
            await self.close_session(session_id, keep_jobs)
        self._local.close()
        for provider in self._providers.values():
            await provider.aclose()
        await self._http.aclose()
        self.calibration.save()
        await sweep_all()
        if self._usage is not None:
            await asyncio.to_thread(self._usage.close)
        self._close_log()

    # -- building ---------------------------------------------------------------------------

    def _open_log(self) -> None:
        """What the program notes about itself goes to a file, never to the screen or a pipe."""
        settings = self.loaded.config.logging
        keys = [value for name, value in self.env.items() if name.endswith("_API_KEY")]
        try:
            file = open_log(
                self.paths.logs / "reactagent.log",
                Redactor(keys),
                level=settings.level,
                max_bytes=settings.max_bytes,
                backups=settings.backups,
            )
        except OSError:
            return  # a state folder that cannot be written is told where it matters: with the session
        root = logging.getLogger("reactagent_tui")
        root.setLevel(settings.level.upper())
        root.propagate = False
        for handler in file.handlers:
            root.addHandler(handler)
            self._handlers.append(handler)

    def _close_log(self) -> None:
        root = logging.getLogger("reactagent_tui")
        root.propagate = True
        for handler in self._handlers:
            root.removeHandler(handler)
            handler.close()
        self._handlers.clear()

    def _toolkit(self, workdir: Path) -> Toolkit:
        tools = builtin_tools(
            locks=self._locks,
            shell_timeout=self.loaded.config.tools.shell_timeout,
            secrets=self._key_variables(),
            http=self._http,
            fetch_private=self.loaded.config.tools.fetch_private,
        )
        return Toolkit([*tools, *skill_tools(lambda: self.skills(workdir))])

    def _key_variables(self) -> tuple[str, ...]:
        """Variables that hold provider keys: commands do not get them."""
        keys = {key for key in self._secrets if key}
        named = (name for name, value in self.env.items() if name.endswith("_API_KEY") or value.strip() in keys)
        return (*named, *PROVIDER_KEYS)

    def _debug(self, session_id: str) -> DebugSteps | None:
        path = self.options.debug_file
        if path is None:
            return None
        keys = [value for name, value in self.env.items() if name.endswith(("_API_KEY", "_TOKEN", "_SECRET"))]
        try:
            return DebugSteps(open_debug_log(path, Redactor([*keys, *self._secrets]), session=session_id))
        except OSError as error:
            raise ConfigError(f"--debug: cannot write {path}: {error.strerror or error}") from error

    def _ledger(self, file: SessionFile) -> Ledger:
        usage, project = self.usage_log(), file.header.workdir

        def keep(row: LedgerRow) -> None:
            file.append("usage", {"row": row.to_record()})
            if not file.sealed:
                usage.record(Booking(row, project, skill_of(file.messages)))

        today = partial(usage.today, without_open_of=file.id)
        ledger = Ledger(file.id, PriceBook.from_config(self.loaded.config), on_row=keep, today=today)
        ledger.restore(_rows_of(file))
        usage.fill(Booking(row, project) for row in ledger.rows)
        return ledger

    def _budget(self, file: SessionFile, ledger: Ledger) -> Budget:
        """What the configuration allows, and over it what the user said in this session."""
        settings = self.loaded.config.budget
        turn = settings.turn or self.loaded.config.limits.max_usd
        given: dict[Scope, Decimal | None] = {"turn": turn, "session": settings.session, "day": settings.day}
        limits: dict[Scope, Decimal] = {scope: limit for scope, limit in given.items() if limit is not None}
        said = [event for event in file.events if event.get("name") == "budget"]
        if said:
            limits = from_record(said[-1].get("limits", {}))
        return Budget(ledger.totals, limits)

    def usage_log(self) -> UsageLog:
        """Every model call of the user on its way to usage.db, and what today cost; begun at the first question."""
        if self._usage is None:
            try:
                post: Callable[..., object] = asyncio.get_running_loop().call_soon_threadsafe
            except RuntimeError:
                post = _drop  # no loop, nobody to tell
            self._usage = UsageLog(
                self.paths.usage_db,
                on_trouble=lambda text: _post(post, self._usage_trouble, text),
                on_today=lambda: _post(post, self._tell_today),
            )
            self._usage.start()
        return self._usage

    def _usage_trouble(self, text: str) -> None:
        log.warning("usage.db: %s", text)
        self.reporter.emit(Notice(key="usage_db.trouble", params={"text": text}, level="warn"))

    def _tell_today(self) -> None:
        today = self.usage_log().today()
        if today is not None:
            self.reporter.emit(TodayChanged(cost=today.cost, other=today.other_costs))

    def _system(self, session: LiveSession) -> str:
        key = session.id
        if key not in self._instructions:
            self._instructions[key] = tuple(instruction_files(session.workdir, self.paths.config))
        parts = PromptParts(
            workdir=session.workdir,
            skills_catalogue=self.skills(session.workdir).catalogue(),
            instructions=self._instructions[key],
            plan_mode=session.mode == "plan",
        )
        return join(compose(parts))


def _drop(*_: object) -> None:
    """For a runtime that was built outside a loop."""


def _post(post: Callable[..., object], act: Callable[..., None], *values: str) -> None:
    """Call it in the runtime's loop, from another thread; a loop that has ended hears no more."""
    with contextlib.suppress(RuntimeError):
        post(act, *values)


def _rows_of(file: SessionFile) -> list[LedgerRow]:
    """The ledger rows a session file holds; a row that cannot be read is left out and logged."""
    rows: list[LedgerRow] = []
    for record in file.usage_rows:
        try:
            rows.append(LedgerRow.from_record(record["row"]))
        except (KeyError, TypeError, ValueError) as error:
            log.warning("%s: a usage record was skipped: %s", file.path, error)
    return rows
