"""The composition root: the only place where objects are built. One Runtime, many sessions, one loop."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from reactagent_tui.core.agents.roles import RoleSource, role_sources
from reactagent_tui.core.agents.session_agents import open_agents
from reactagent_tui.core.books import Books
from reactagent_tui.core.checkpoints.opening import rewinder_of
from reactagent_tui.core.config.loader import LoadedConfig, Overrides, load_config
from reactagent_tui.core.config.schema import Config
from reactagent_tui.core.cost.cache_tag import CacheWatch
from reactagent_tui.core.errors import ConfigError
from reactagent_tui.core.events import Notice
from reactagent_tui.core.folder_trust import FolderTrust
from reactagent_tui.core.leftovers import clear_away
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
from reactagent_tui.core.log import Redactor, open_debug_log
from reactagent_tui.core.paths import Paths, user_paths
from reactagent_tui.core.program_log import ProgramLog, open_program_log
from reactagent_tui.core.prompt.composer import PromptParts, Section, compose, join
from reactagent_tui.core.prompt.project import instruction_files
from reactagent_tui.core.prompt_gate import PromptGate, open_gate
from reactagent_tui.core.react.counting import WorkingMemory
from reactagent_tui.core.react.debug import DebugSteps
from reactagent_tui.core.react.gates import Limits
from reactagent_tui.core.react.two_phase import TwoPhaseThinking
from reactagent_tui.core.reflect.learned import learned_lines
from reactagent_tui.core.remembering import open_memory
from reactagent_tui.core.reporter import Reporter
from reactagent_tui.core.runtime_servers import RuntimeServers
from reactagent_tui.core.safety.grants import Grants
from reactagent_tui.core.safety.permissions import Permissions
from reactagent_tui.core.safety.workspace import Workspace
from reactagent_tui.core.sandboxing import Kind, begin_sandbox
from reactagent_tui.core.sessions.store import SessionFile, SessionStore
from reactagent_tui.core.skills.loader import SkillLibrary, SkillSource, default_sources
from reactagent_tui.core.tools.builtin import POLLING, builtin_tools
from reactagent_tui.core.tools.jobs import Keep
from reactagent_tui.core.tools.memory import memory_tools
from reactagent_tui.core.tools.pipeline import pipeline_tools, with_pipelines
from reactagent_tui.core.tools.places import PathLocks
from reactagent_tui.core.tools.process import sweep_all
from reactagent_tui.core.tools.shell_env import PROVIDER_KEYS
from reactagent_tui.core.tools.skills import skill_tools
from reactagent_tui.core.tools.toolkit import Toolkit
from reactagent_tui.core.tools.typed_skill import with_typed_skills
from reactagent_tui.core.trust import TrustStore

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Options:
    """What a front end decides before anything is built."""

    config_file: Path | None = None
    overrides: Overrides = field(default_factory=Overrides)
    demo: bool = False
    debug_file: Path | None = None
    """Where `--debug` logs."""
    sandbox: Kind | None = None
    """Of `--sandbox`; None: what the configuration says."""
    trust: bool = False
    """Of `--trust`: the folders of sessions are trusted as long as this process runs."""


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
    _http: HttpPool = field(default_factory=HttpPool)
    _pacers: Pacers = field(default_factory=Pacers)
    _secrets: list[str] = field(default_factory=list[str])
    _log: ProgramLog | None = None
    _locks: PathLocks = field(default_factory=PathLocks)
    _providers: dict[str, ChatProvider] = field(default_factory=dict[str, ChatProvider])
    _skills: dict[Path, SkillLibrary] = field(default_factory=dict[Path, SkillLibrary])
    _instructions: dict[str, tuple[tuple[str, str], ...]] = field(
        default_factory=dict[str, tuple[tuple[str, str], ...]]
    )

    def __post_init__(self) -> None:
        self._local = LocalWatch(self.loaded, self._http, self._window_told)
        self.trust = FolderTrust(
            TrustStore.of(self.paths), lambda: self.reporter, lambda: self.loaded, self._with_project
        )
        self._asking: set[asyncio.Task[None]] = set()
        self.books = Books(self.loaded, self.paths, lambda: self.reporter)
        self.memory = open_memory(
            self.loaded, self.paths, self._http, lambda: self.reporter, lambda: self._secrets, self.sessions
        )
        self.servers = RuntimeServers(self)

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
        clear_away(paths)
        calibration = Calibration(paths.calibration)
        runtime = cls(loaded, paths, reporter, options, env, calibration=calibration)
        runtime._log = open_program_log(paths.logs, loaded.config.logging, env)
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
            disabled = self.trust.config(workdir).config.skills.disabled
            library = self._skills[workdir] = SkillLibrary(self._skill_sources(workdir), disabled=disabled)
        else:
            library.reload_if_changed()
        return library

    def _skill_sources(self, workdir: Path) -> tuple[SkillSource, ...]:
        home = Path(self.env.get("HOME") or Path.home())
        config, trusted = self.trust.config(workdir).config, self.trust.is_trusted(workdir)
        extra = tuple(SkillSource(workdir / Path(d).expanduser(), "user") for d in config.skills.directories)
        return default_sources(self.paths, home, workdir, project_trusted=trusted) + extra

    def _role_sources(self, workdir: Path) -> tuple[RoleSource, ...]:
        return role_sources(self.paths, workdir, trusted=self.trust.is_trusted(workdir))

    # -- trust ------------------------------------------------------------------------------

    def ask_trust(self, session: LiveSession) -> None:
        """Ask whether this session's folder is trusted, if it holds something to trust and nobody was asked yet."""
        task = asyncio.create_task(self._ask_trust(session), name="trust")
        self._asking.add(task)
        task.add_done_callback(self._asking.discard)

    async def _ask_trust(self, session: LiveSession) -> None:
        if await self.trust.ask(session.workdir, session.id):
            self.trust_changed(session.workdir)
            session.notice("trust.loaded", folder=str(session.workdir))

    def trust_changed(self, workdir: Path) -> None:
        """Load, or leave out from now on, what the folder brings along; open sessions in it follow."""
        self._skills.pop(workdir, None)
        config = self.trust.config(workdir).config
        self.servers.reload(workdir)
        for session in self.sessions.values():
            if session.workdir == workdir:
                rules = config.permissions
                session.permissions.set_rules(deny=rules.deny, ask=rules.ask, allow=rules.allow)
                session.permissions.set_readable(self._readable(session.file, workdir))
                session.limits = _limits(config)

    def _with_project(self, file: Path) -> LoadedConfig:
        explicit, flags = self.options.config_file, self.options.overrides
        return load_config(explicit=explicit, env=self.env, paths=self.paths, flags=flags, project=file)

    def _readable(self, file: SessionFile, workdir: Path) -> tuple[Path, ...]:
        """Folders outside the workspace that are free to read."""
        return (file.folder, *(source.path for source in self._skill_sources(workdir)))

    # -- sessions ---------------------------------------------------------------------------

    @property
    def store(self) -> SessionStore:
        return SessionStore.at(self.paths)

    def open_session(
        self, workdir: Path, *, resume: SessionFile | None = None, model: str | None = None
    ) -> LiveSession:
        """A new session in `workdir`, or a resumed one in its own folder. Raises ConfigError."""
        if resume is not None and resume.id in self.sessions:
            resume.close()
            return self.sessions[resume.id]  # found by its title or the start of its id: one file, one writer
        if resume is not None:
            recorded = Path(resume.header.workdir)
            workdir = recorded if recorded.is_dir() else workdir
        workdir = Path(os.path.realpath(workdir))
        if self.options.trust:
            self.trust.trust_for_now(workdir)
        config = self.trust.config(workdir).config
        provider = self.provider(model or self._model_of(config))
        mode = config.permissions.mode
        file = resume or self.store.create(workdir, model=provider.info.name, mode=mode)
        roots = Workspace.at(
            workdir, tuple(Path(d).expanduser() for d in config.permissions.additional_directories)
        ).roots
        ledger = self.books.ledger(file)
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
                readable=self._readable(file, workdir),
                grants=Grants.of_folder(self.paths, workdir),
            ),
            ledger=ledger,
            calibration=self.calibration,
            cache=cache,
            system=self._system,
            limits=_limits(config),
            working_memory=WorkingMemory(**config.working_memory.model_dump()),
            date_and_git=config.date_and_git,
            budget=self.books.budget(file, ledger),
            fallback_models=config.fallback_models,
            make_provider=self.provider,
            list_models=self.models,
            two_phase=TwoPhaseThinking(config.two_phase),
            loop_window=config.limits.loop_window,
            polling=POLLING,
            debug=self._debug(file.id),
            before_turn=self.fresh_instructions,
            memory=self.memory,
            plan_tools=config.plan.tools,
        )
        self.vocabulary().learn(provider.info, lambda: session.system(session))
        file.on_trouble = lambda text: self.reporter.emit(
            Notice(session_id=file.id, key="session.unsaved", params={"text": text}, level="error")
        )
        open_agents(session, self.loaded.config.agents, partial(self._role_sources, workdir), self._key_variables)
        self._offer_skills(session)
        session.rewinder = rewinder_of(session, roots, self.paths)
        if resume is not None:
            session.jobs.restore(resume.events)
        session.gate = self._gate(session)
        self.sessions[session.id] = session
        self.memory.warm()
        self.servers.open(session)
        return session

    def _model_of(self, config: Config) -> str | None:
        """The model that a trusted folder names; None: the user's own."""
        return None if self.options.demo or config.model == self.loaded.config.model else config.model

    def _gate(self, session: LiveSession) -> PromptGate | None:
        """The user's hooks, and those of a folder that is trusted; hooks that cannot be read are told and left out."""
        hooks = self.loaded.config.hooks
        try:
            return open_gate(session, hooks, self._key_variables, trusted=self.trust.is_trusted(session.workdir))
        except ConfigError as error:
            self.reporter.emit(Notice(key="trust.bad_config", params={"text": str(error)}, level="error"))
            return open_gate(session, hooks, self._key_variables, trusted=False)

    async def begin_sandbox(self, session: LiveSession) -> None:
        """Give a session that was just opened its sandbox. Raises SandboxError."""
        await begin_sandbox(session, self.loaded.config.sandbox, self.paths, self.options.sandbox)

    def fresh_instructions(self, session: LiveSession) -> None:
        """Read instruction files and typed skills again for the next turn of this session."""
        self._instructions.pop(session.id, None)
        self._offer_skills(session)
        self.servers.begin_turn(session)
        if session.agents is not None:
            session.agents.tell_roles()

    def _offer_skills(self, session: LiveSession) -> None:
        """Typed skills and pipelines as tools, behind all others in one order: the prompt's bytes stay the same."""
        skills = partial(self.skills, session.workdir)
        kit = with_typed_skills(session.toolkit, skills())
        session.toolkit = with_pipelines(kit, pipeline_tools(skills, self._key_variables()))

    async def close_session(self, session_id: str, keep_jobs: Keep = "kept") -> None:
        session = self.sessions.pop(session_id, None)
        if session is not None:
            await session.close(keep_jobs)

    async def close(self, keep_jobs: Keep = "kept") -> None:
        """Stop every run, close every file and connection, end every process a tool left behind but kept jobs."""
        for task in list(self._asking):
            task.cancel()
        await asyncio.gather(*(self.close_session(session_id, keep_jobs) for session_id in list(self.sessions)))
        await self.memory.close()
        self._local.close()
        await self.servers.close()
        for provider in self._providers.values():
            await provider.aclose()
        await self._http.aclose()
        self.calibration.save()
        await sweep_all()
        await self.books.close()
        if self._log is not None:
            self._log.close()

    # -- building ---------------------------------------------------------------------------

    def _toolkit(self, workdir: Path) -> Toolkit:
        settings = self.trust.config(workdir).config.tools
        tools = builtin_tools(
            locks=self._locks,
            shell_timeout=settings.shell_timeout,
            secrets=self._key_variables(),
            http=self._http,
            fetch_private=self.loaded.config.tools.fetch_private,
        )
        return Toolkit([*tools, *skill_tools(partial(self.skills, workdir)), *memory_tools(self.memory, workdir)])

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

    def _system(self, session: LiveSession) -> str:
        return join(self.prompt_sections(session))

    def prompt_sections(self, session: LiveSession) -> tuple[Section, ...]:
        """The system prompt of a session, part by part."""
        if session.id not in self._instructions:
            self._instructions[session.id] = tuple(instruction_files(session.workdir, self.paths.config))
            session.learned = learned_lines(session.workdir, self.paths.config)
        parts = PromptParts(
            workdir=session.workdir,
            skills_catalogue=self.skills(session.workdir).catalogue(without=session.without_skills),
            instructions=[one for one in self._instructions[session.id] if one[0] not in session.without_files],
            learned=session.learned,
            plan_mode=session.mode == "plan",
            plan=session.plan.pinned,
        )
        return compose(parts)


def _limits(config: Config) -> Limits:
    limits = config.limits
    return Limits(max_steps=limits.max_steps, seconds=limits.timeout, tokens=limits.max_tokens)
