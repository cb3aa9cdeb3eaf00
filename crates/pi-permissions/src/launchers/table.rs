//! Programs that run others, and the arguments with which programs do.

/// A program whose arguments are, or contain, a command.
pub(super) struct Launcher {
    pub(super) name: &'static str,
    /// Arguments in front of the command that are no options.
    pub(super) operands: usize,
    /// Letters of options that a value follows.
    pub(super) value_options: &'static str,
    /// Arguments, here-documents and files may be scripts.
    pub(super) takes_script: bool,
}

const fn program(name: &'static str, operands: usize, value_options: &'static str) -> Launcher {
    Launcher {
        name,
        operands,
        value_options,
        takes_script: false,
    }
}

const fn shell(name: &'static str, operands: usize, value_options: &'static str) -> Launcher {
    Launcher {
        name,
        operands,
        value_options,
        takes_script: true,
    }
}

/// Programs whose command is clear from simple arguments.
pub(super) const TRANSPARENT: &[Launcher] = &[
    program("builtin", 0, ""),
    program("command", 0, ""),
    program("env", 0, "uC"),
    program("exec", 0, "a"),
    program("nice", 0, "n"),
    program("nohup", 0, ""),
    program("setsid", 0, ""),
    program("time", 0, "of"),
    program("timeout", 1, "ks"),
];

/// Programs that are not understood.
pub(super) const LAUNCHERS: &[Launcher] = &[
    shell(".", 0, ""),
    program("alias", 0, ""),
    shell("ash", 0, "o"),
    shell("at", 0, "f"),
    shell("bash", 0, "oO"),
    shell("batch", 0, ""),
    program("busybox", 0, ""),
    program("bwrap", 0, ""),
    program("chpst", 0, "uUe/"),
    program("chroot", 1, ""),
    program("chrt", 1, "TPD"),
    shell("cmd", 0, ""),
    program("cross-env", 0, ""),
    shell("crontab", 0, "u"),
    shell("csh", 0, ""),
    program("daemonize", 0, "aceolpu"),
    shell("dash", 0, "o"),
    program("dbus-launch", 0, ""),
    program("dbus-run-session", 0, ""),
    program("doas", 0, "uC"),
    program("dotenv", 0, "ef"),
    program("entr", 0, ""),
    program("envdir", 1, ""),
    shell("eval", 0, ""),
    shell("expect", 0, ""),
    program("fakeroot", 0, "lsib"),
    program("faketime", 1, "f"),
    program("fc", 0, ""),
    program("firejail", 0, ""),
    shell("fish", 0, ""),
    shell("flock", 1, "wE"),
    program("gdb", 0, "xp"),
    shell("iex", 0, ""),
    program("invoke-command", 0, ""),
    shell("invoke-expression", 0, ""),
    program("ionice", 0, "cnpPu"),
    shell("ksh", 0, "o"),
    program("ltrace", 0, "eopsu"),
    shell("mksh", 0, "o"),
    program("nsenter", 0, "tSG"),
    program("numactl", 0, "iNCmp"),
    shell("nu", 0, ""),
    shell("parallel", 0, "jNnaIPSL"),
    program("pkexec", 0, ""),
    shell("powershell", 0, ""),
    program("prlimit", 0, "po"),
    program("proot", 0, "rbwq"),
    shell("pwsh", 0, ""),
    shell("rbash", 0, "o"),
    program("run-parts", 0, ""),
    shell("runuser", 0, "ugGsc"),
    shell("screen", 0, "SctTp"),
    shell("script", 0, "coEIOBmT"),
    program("setarch", 1, ""),
    program("setpriv", 0, ""),
    shell("sh", 0, "o"),
    program("softlimit", 0, "acdflmnoprst"),
    shell("source", 0, ""),
    shell("ssh", 1, "bBcDEeFIiJLlmOopQRSWw"),
    program("ssh-agent", 0, "aEOPt"),
    program("start-process", 0, ""),
    program("start-stop-daemon", 0, "xnpugcsRrdkNPIba"),
    program("stdbuf", 0, "ioe"),
    program("strace", 0, "abeEIoOpPsSuX"),
    shell("su", 1, "cgGsTw"),
    program("sudo", 0, "CDghpRrtTUu"),
    program("systemd-run", 0, "upEMH"),
    program("taskset", 1, "p"),
    shell("tcsh", 0, ""),
    shell("tmux", 0, "cfLSTtns"),
    program("toybox", 0, ""),
    program("torsocks", 0, ""),
    shell("trap", 0, ""),
    program("unbuffer", 0, ""),
    program("unshare", 0, "wRSG"),
    program("valgrind", 0, ""),
    shell("watch", 0, "nq"),
    program("winpty", 0, ""),
    program("xargs", 0, "aEdILnPs"),
    program("xvfb-run", 0, "enfps"),
    shell("yash", 0, "o"),
    shell("zsh", 0, "o"),
];

/// Programs, and their commands that run another program. Rules for that one apply, too.
pub(super) const RUNNERS: &[(&str, &[&str])] = &[
    ("bun", &["x", "exec"]),
    ("bundle", &["exec"]),
    ("conda", &["run"]),
    ("direnv", &["exec"]),
    ("git", &["run", "foreach"]),
    ("mise", &["exec", "x"]),
    ("npm", &["exec", "x"]),
    ("opam", &["exec"]),
    ("pipenv", &["run"]),
    ("pnpm", &["exec", "dlx"]),
    ("poetry", &["run"]),
    ("rustup", &["run"]),
    ("uv", &["run"]),
    ("yarn", &["exec", "dlx"]),
];

/// Arguments with which a command runs another one, or writes where it usually only reads.
pub(super) const LAUNCHING_ARGUMENTS: &[(&str, &[&str])] = &[
    (
        "find",
        &[
            "-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprint0", "-fprintf",
            "-fls",
        ],
    ),
    ("fd", &["-x", "-X", "--exec", "--exec-batch"]),
    ("fdfind", &["-x", "-X", "--exec", "--exec-batch"]),
    (
        "git",
        &[
            "--config-env",
            "--exec-path",
            "--upload-pack",
            "--receive-pack",
            "--exec",
            "--ext-diff",
            "--open-files-in-pager",
            "--output",
            "--extcmd",
            "--template",
        ],
    ),
    ("go", &["-exec", "-toolexec", "-vettool"]),
    ("rg", &["--pre", "--hostname-bin"]),
    (
        "tar",
        &[
            "-I",
            "-F",
            "--to-command",
            "--checkpoint-action",
            "--use-compress-program",
            "--info-script",
            "--new-volume-script",
            "--rsh-command",
        ],
    ),
    ("rsync", &["-e", "--rsh", "--rsync-path"]),
    ("scp", &["-S", "-o", "-F"]),
    ("sftp", &["-S", "-o", "-F", "-b"]),
    ("sort", &["-o", "--output", "--compress-program"]),
    ("zip", &["-TT", "--unzip-command"]),
    ("cargo", &["--config"]),
    ("npm", &["--script-shell", "--node-options"]),
    ("sed", &["-i", "--in-place"]),
    ("make", &["--eval"]),
    ("gmake", &["--eval"]),
    ("man", &["-P", "--pager", "-H", "--html"]),
    ("vim", &["-c", "-S", "-s", "--cmd"]),
    ("vi", &["-c", "-S", "-s", "--cmd"]),
    ("nvim", &["-c", "-S", "-s", "--cmd"]),
    ("ex", &["-c", "-S", "-s", "--cmd"]),
    (
        "emacs",
        &["--eval", "--execute", "-eval", "-f", "--funcall"],
    ),
    ("printf", &["-v"]),
    ("mapfile", &["-C"]),
    ("readarray", &["-C"]),
    ("set", &["-k"]),
    ("jobs", &["-x"]),
    ("hash", &["-p"]),
    ("enable", &["-f"]),
    ("compgen", &["-C", "-F"]),
];

/// Of these programs, a file whose name starts with `-` can be such an argument.
pub(super) const WILDCARD_OPTIONS: [&str; 8] =
    ["find", "fd", "fdfind", "rg", "rsync", "sed", "sort", "tar"];

/// Options of `git` in front of its command that a value follows.
pub(super) const GIT_OPTIONS: &[&str] = &[
    "-C",
    "-c",
    "--git-dir",
    "--work-tree",
    "--namespace",
    "--config-env",
    "--super-prefix",
    "--attr-source",
];
