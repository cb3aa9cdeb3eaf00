//! The pages of the manual: names, summaries, sections and search words.
//!
//! The documentation site (`cargo xtask site`) includes this file, so it depends on nothing else.

/// A group of pages in the navigation of the documentation site.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Section {
    Start,
    Models,
    Sessions,
    Tools,
    Customize,
    Integrate,
    Trust,
    Migrate,
}

impl Section {
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Start => "Getting started",
            Self::Models => "Models",
            Self::Sessions => "Sessions",
            Self::Tools => "Tools",
            Self::Customize => "Customize",
            Self::Integrate => "Editors and programs",
            Self::Trust => "Performance and security",
            Self::Migrate => "TypeScript pi",
        }
    }
}

/// A page of the manual.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Topic {
    /// The file name without extension; `pi docs NAME` shows it.
    pub(crate) name: &'static str,
    pub(crate) section: Section,
    /// One-line summary.
    pub(crate) about: &'static str,
    /// More words that find the page.
    pub(crate) keywords: &'static [&'static str],
}

const fn topic(
    name: &'static str,
    section: Section,
    about: &'static str,
    keywords: &'static [&'static str],
) -> Topic {
    Topic {
        name,
        section,
        about,
        keywords,
    }
}

use Section::{Customize, Integrate, Migrate, Models, Sessions, Start, Tools, Trust};

/// Every page, in the order of the manual. The pages of a section follow each other.
#[rustfmt::skip]
pub(crate) static TOPICS: &[Topic] = &[
    topic("quick-start", Start, "Connect a model, make a first change", &["start", "begin", "tutorial", "overview"]),
    topic("install", Start, "Install, verify, update and remove pi", &["download", "upgrade", "uninstall", "homebrew", "docker", "completions", "signature", "self-update"]),
    topic("interactive", Start, "Interactive mode: editor, commands, queue", &["terminal", "slash", "commands", "tui", "editor", "footer", "share", "bug"]),
    topic("command-line", Start, "Flags, modes, input, exit codes, subcommands", &["cli", "flags", "options", "print", "exit", "replay"]),
    topic("configuration", Start, "Settings, environment variables, files, trust", &["settings", "environment", "variables", "trust", "context", "files"]),
    topic("providers", Models, "API keys, sign-in and local servers", &["auth", "login", "keys", "oauth", "llama", "ollama", "credentials"]),
    topic("models", Models, "Select models and thinking levels, models.json", &["model", "thinking", "models.json", "catalog"]),
    topic("images", Models, "Generate images: models, tool, scripts", &["image", "picture", "draw", "openai-images", "image-models.json"]),
    topic("pods", Models, "Run models on rented GPU machines", &["gpu", "vllm", "pi-pods", "ssh", "tunnel", "rent"]),
    topic("sessions", Sessions, "Resume, branch, fork, export", &["session", "tree", "fork", "resume", "branch", "export"]),
    topic("attach", Sessions, "One session in several terminals, or in the background", &["live", "detach", "background", "host", "watch"]),
    topic("file-history", Sessions, "Undo what the agent changed in files", &["undo", "restore", "rewind", "checkpoint", "files"]),
    topic("session-files", Sessions, "File format, guarantees, check and repair", &["jsonl", "format", "crash", "entries", "fsck", "repair"]),
    topic("compaction", Sessions, "Summarize long conversations", &["compact", "summary", "context", "overflow"]),
    topic("tools", Tools, "Built-in tools and their limits", &["tool", "bash", "read", "edit", "write", "grep", "find", "ls", "shell"]),
    topic("codemode", Tools, "Scripts that call tools, tool search", &["code", "script", "javascript", "tool_search", "search"]),
    topic("agents", Tools, "Sub-agents: delegate work, watch and steer it", &["agent", "subagents", "sub-agents", "task", "delegate", "worktree"]),
    topic("mcp", Tools, "Servers of the Model Context Protocol", &["servers", "mcp.json", "resources"]),
    topic("extensions", Customize, "Write extensions in TypeScript", &["extension", "plugin", "hooks", "events", "api"]),
    topic("extension-packages", Customize, "Tested third-party packages", &["compatible", "tried", "extensions-compatibility"]),
    topic("skills", Customize, "Instructions the model loads for a task", &["skill"]),
    topic("templates", Customize, "Reusable prompts as slash commands", &["prompts", "template", "prompt-templates"]),
    topic("themes", Customize, "Color themes", &["theme", "colors"]),
    topic("packages", Customize, "Install extensions, skills, templates and themes", &["package", "install", "npm", "git", "update"]),
    topic("keybindings", Customize, "All keys, and how to change them", &["keys", "hotkeys", "shortcuts", "bindings"]),
    topic("editors", Integrate, "Use pi in Zed, JetBrains, Neovim, Emacs, VS Code", &["acp", "zed", "jetbrains", "neovim", "emacs", "vscode", "acpx"]),
    topic("fleet", Integrate, "Batches of tasks with many agents", &["fleet", "batch", "workers", "evaluation", "swe-bench", "migration", "budget"]),
    topic("rpc", Integrate, "Control pi from bots and programs", &["protocol", "editor", "client"]),
    topic("node", Integrate, "Run Node programs on the native pi", &["npm", "javascript", "typescript", "bot", "package"]),
    topic("mom", Integrate, "A chat bot for Slack and Mattermost", &["chat", "slack", "mattermost", "bot", "cron", "schedule"]),
    topic("server", Integrate, "Serve sessions over HTTP to browsers and programs", &["serve", "http", "web", "browser", "phone", "websocket", "sse", "api"]),
    topic("web", Integrate, "Your sessions in a browser or on a phone", &["browser", "phone", "page", "ui"]),
    topic("json", Integrate, "Events as lines of JSON", &["events", "jsonl", "stream"]),
    topic("sdk", Integrate, "Use pi as a Rust library", &["rust", "library", "crate", "api"]),
    topic("performance", Trust, "Measured speed and memory", &["speed", "memory", "benchmark", "profile", "fast"]),
    topic("sandbox", Trust, "Confine tools and commands", &["landlock", "namespaces", "confine"]),
    topic("security", Trust, "Security model", &["trust", "secrets", "privacy", "telemetry"]),
    topic("reliability", Trust, "Guarantees for your files, and the tests for them", &["durability", "faults", "soak", "damage"]),
    topic("hostile-input", Trust, "Known attacks and their mitigations", &["attacks", "injection", "hostile", "threats"]),
    topic("migrating", Migrate, "Update from 0.87, switch from the TypeScript pi", &["migrate", "upgrade", "update", "switch", "0.87"]),
    topic("differences", Migrate, "Differences from the TypeScript pi", &["typescript", "compatibility", "reference"]),
];
