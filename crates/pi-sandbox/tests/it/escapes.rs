//! Attacks on the sandbox. Each one prints [`ESCAPED`] if it succeeds, and succeeds without a sandbox.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::Path;
use std::process::Stdio;

use pi_env::Env;
use pi_sandbox::{Enforcement, Roots, Sandbox, SandboxError};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::fixture::{ESCAPED, Fixture, contents, start, text, write};

/// What holds without namespaces.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Landlock {
    Denies,
    /// Cannot be expressed: the mode `workspace` is an error there.
    Cannot,
}
use Landlock::{Cannot, Denies};

struct Attack {
    name: &'static str,
    script: &'static str,
    landlock: Landlock,
    /// Whether it works without a sandbox, for every user.
    works_outside: bool,
}

const fn attack(landlock: Landlock, name: &'static str, script: &'static str) -> Attack {
    Attack {
        name,
        script,
        landlock,
        works_outside: true,
    }
}

/// An attack that needs rights, or support of the kernel, that the user of the test may not have.
const fn unsure(landlock: Landlock, name: &'static str, script: &'static str) -> Attack {
    Attack {
        works_outside: false,
        ..attack(landlock, name, script)
    }
}

const ATTACKS: &[Attack] = &[
    attack(Denies, "create outside", "echo x > $OUTSIDE/new"),
    attack(Denies, "overwrite outside", "echo x > $OUTSIDE/file.txt"),
    attack(Denies, "append outside", "echo x >> $OUTSIDE/file.txt"),
    attack(
        Denies,
        "truncate outside",
        "truncate -s 0 $OUTSIDE/file.txt",
    ),
    attack(Denies, "remove outside", "rm $OUTSIDE/file.txt"),
    attack(Denies, "make directory outside", "mkdir $OUTSIDE/new"),
    attack(
        Denies,
        "rename outside",
        "mv $OUTSIDE/file.txt $OUTSIDE/other",
    ),
    attack(Denies, "move out", "mv file.txt $OUTSIDE/moved"),
    attack(Cannot, "change mode outside", "chmod 777 $OUTSIDE/file.txt"),
    attack(
        Cannot,
        "change time outside",
        "touch -d 2001-01-01 $OUTSIDE/file.txt",
    ),
    attack(
        Denies,
        "link to directory",
        "ln -s $OUTSIDE link && echo x > link/new",
    ),
    attack(
        Denies,
        "link to file",
        "ln -s $OUTSIDE/file.txt link && echo x > link",
    ),
    attack(
        Denies,
        "hard link",
        "ln $OUTSIDE/file.txt hard && echo x > hard",
    ),
    attack(
        Denies,
        "parent directories",
        "cd / && echo x > .$OUTSIDE/new",
    ),
    attack(Denies, "home directory", "echo x > ~/.bashrc"),
    attack(
        Denies,
        "agent directory",
        "echo x > ~/.pi/agent/settings.json",
    ),
    // Files that run outside of the sandbox, or decide about it.
    attack(
        Cannot,
        "missing .pi",
        "mkdir -p .pi && echo {} > .pi/settings.json",
    ),
    attack(Cannot, "missing .pi as a link", "mkdir d && ln -s d .pi"),
    attack(
        Cannot,
        ".pi replaced by a link",
        "mkdir d; rm -rf .pi; ln -s d .pi && [ -L .pi ]",
    ),
    attack(
        Cannot,
        ".pi renamed into place",
        "mkdir d && touch d/settings.json && mv -T d .pi",
    ),
    attack(Cannot, "missing .mcp.json", "echo {} > .mcp.json"),
    attack(Cannot, "git hook", "echo x > .git/hooks/pre-commit"),
    attack(Cannot, "git configuration", "echo x >> .git/config"),
    attack(
        Cannot,
        "git configuration of another directory",
        "rm -f .git/commondir; echo ../evil > .git/commondir",
    ),
    attack(
        Cannot,
        "git configuration of another directory, renamed into place",
        "echo ../evil > c && mv -f c .git/commondir",
    ),
    attack(
        Cannot,
        "git configuration renamed",
        "mv .git/config .git/c && echo x > .git/config",
    ),
    attack(
        Cannot,
        "hooks renamed",
        "mv .git/hooks .git/h && mkdir .git/hooks",
    ),
    attack(
        Cannot,
        "git directory renamed",
        "mv .git g && mkdir -p .git/hooks && touch .git/hooks/x",
    ),
    attack(
        Cannot,
        "project renamed",
        "cd .. && mv project p && mkdir -p project/.pi",
    ),
    // Secrets.
    attack(Denies, "read key", "cat ~/.ssh/id"),
    attack(Denies, "read .env", "grep SECRET .env"),
    attack(Cannot, "move .env", "mv .env e && grep SECRET e"),
    attack(Cannot, "link .env", "ln .env e && grep SECRET e"),
    attack(Denies, "read credentials", "grep . ~/.pi/agent/auth.json"),
    attack(
        Denies,
        "read credentials of MCP servers",
        "grep . ~/.pi/agent/mcp-auth.json",
    ),
    attack(
        Denies,
        "read token of the server",
        "grep . ~/.pi/agent/serve.json",
    ),
    // Other processes.
    attack(Denies, "signal", "$ATTACK __attack signal $OUTER"),
    unsure(
        Denies,
        "environment of another process",
        "cat /proc/$OUTER/environ | grep -q .",
    ),
    unsure(
        Denies,
        "memory of another process",
        "exec 3</proc/$OUTER/mem",
    ),
    unsure(Denies, "root of another process", "ls /proc/$OUTER/root/"),
    attack(
        Denies,
        "root of the first process",
        "echo x > /proc/1/root$OUTSIDE/new || echo x > /proc/self/root$OUTSIDE/new",
    ),
    unsure(Denies, "memory of the first process", "exec 3</proc/1/mem"),
    unsure(
        Denies,
        "descriptors of the first process",
        "readlink /proc/1/fd/0",
    ),
    attack(Denies, "ptrace", "$ATTACK __attack ptrace"),
    unsure(Denies, "keyctl", "$ATTACK __attack keyctl"),
    unsure(Denies, "add key", "$ATTACK __attack add-key"),
    // Sockets and network.
    attack(Denies, "socket", "$ATTACK __attack connect $SOCKET"),
    attack(
        Denies,
        "socket of a session",
        "$ATTACK __attack connect ~/.pi/agent/live/session.sock",
    ),
    attack(
        Denies,
        "socket of the server",
        "$ATTACK __attack connect ~/.pi/agent/serve.sock",
    ),
    unsure(
        Denies,
        "socket of a session through the owner",
        "$ATTACK __attack connect /proc/$OUTER/root$HOME/.pi/agent/live/session.sock",
    ),
    attack(
        Denies,
        "abstract socket",
        "$ATTACK __attack connect-abstract $ABSTRACT",
    ),
    attack(Denies, "/dev/tcp", "exec 3<>/dev/tcp/127.0.0.1/$PORT"),
    unsure(Denies, "/dev/udp", "exec 3<>/dev/udp/127.0.0.1/$PORT"),
    unsure(Denies, "vsock", "$ATTACK __attack socket-vsock"),
    attack(
        Denies,
        "datagram sockets",
        "$ATTACK __attack any-datagram-socket",
    ),
    unsure(Denies, "raw packets", "$ATTACK __attack any-packet-socket"),
    attack(Denies, "netlink", "$ATTACK __attack any-netlink-socket"),
    // Undoing the sandbox.
    unsure(
        Denies,
        "remount",
        "$ATTACK __attack remount / || $ATTACK __attack remount $PROJECT",
    ),
    unsure(Denies, "mount", "$ATTACK __attack mount $PROJECT"),
    unsure(
        Denies,
        "unmount",
        "$ATTACK __attack unmount $PROJECT || $ATTACK __attack unmount /proc",
    ),
    unsure(Denies, "chroot", "$ATTACK __attack chroot /proc"),
    attack(Denies, "user namespace", "$ATTACK __attack unshare-user"),
    attack(
        Denies,
        "cloned user namespace",
        "$ATTACK __attack clone-user",
    ),
    unsure(Denies, "mount namespace", "$ATTACK __attack unshare-mount"),
    attack(
        Denies,
        "unshare and mount",
        "unshare -Urm mount -t tmpfs none /mnt",
    ),
    unsure(Denies, "io_uring", "$ATTACK __attack io-uring"),
    unsure(
        Denies,
        "denied system calls",
        "$ATTACK __attack any-denied-call",
    ),
    unsure(
        Denies,
        "input of a terminal",
        "script -qec '$ATTACK __attack terminal-input' /dev/null < /dev/null",
    ),
    // The kernel and its devices. Nothing is written.
    unsure(
        Denies,
        "kernel settings",
        "exec 3>>/proc/sys/kernel/core_pattern",
    ),
    unsure(
        Denies,
        "kernel settings of drivers",
        "for file in /proc/mtrr /proc/scsi/scsi /proc/acpi/wakeup; do exec 3>>$file && break; done",
    ),
    unsure(Denies, "sysrq", "exec 3>>/proc/sysrq-trigger"),
    unsure(Denies, "kernel log", "exec 3>>/dev/kmsg"),
    unsure(
        Denies,
        "disks",
        "for disk in /dev/[hsv]d?; do exec 3>>$disk && break; done",
    ),
    unsure(
        Denies,
        "control groups",
        "mkdir /sys/fs/cgroup/pi-sandbox-test",
    ),
    unsure(
        Denies,
        "privileges of programs",
        "grep -q 'NoNewPrivs:.0' /proc/self/status",
    ),
    unsure(
        Denies,
        "capabilities over mounts",
        "mask=$(sed -n 's/CapEff:.//p' /proc/self/status); (( 0x$mask >> 21 & 1 ))",
    ),
    unsure(
        Denies,
        "inherited descriptors",
        "ls /proc/self/fd | grep -qE '[4-9]|..'",
    ),
];

fn escape(fixture: &Fixture, sandbox: Option<&Sandbox>, attack: &Attack) -> bool {
    let script = format!("{{ {}; }} && echo {ESCAPED}", attack.script);
    text(&fixture.run(sandbox, &script)).contains(ESCAPED)
}

/// Runs the attacks; each gets its own files.
fn check(settings: &serde_json::Value, is_expected: impl Fn(&Attack) -> bool) {
    let mut failures = Vec::new();
    for attack in ATTACKS.iter().filter(|attack| is_expected(attack)) {
        let fixture = Fixture::new();
        let sandbox = fixture.sandbox(settings);
        let outside = [fixture.root().join("outside"), fixture.root().join("home")];
        let before = outside.each_ref().map(|path| contents(path));
        if escape(&fixture, Some(&sandbox), attack) {
            failures.push(format!("{}: escaped", attack.name));
        }
        if outside.each_ref().map(|path| contents(path)) != before {
            failures.push(format!("{}: changed files outside", attack.name));
        }
        let project = fixture.project();
        if [".pi", ".mcp.json", ".git/commondir"]
            .iter()
            .any(|name| project.join(name).exists())
            || !contents(&project.join(".git/hooks")).is_empty()
            || fs::read(project.join(".git/config")).unwrap_or_default() != b"[core]\n"
        {
            let is_protected = sandbox.enforcement() == Enforcement::Namespaces;
            if is_protected {
                failures.push(format!("{}: changed protected files", attack.name));
            }
        }
    }
    assert_eq!(failures, Vec::<String>::new());
}

pub(crate) fn with_namespaces() {
    let settings = json!({ "mode": "workspace", "network": "off" });
    assert_eq!(
        Fixture::new().sandbox(&settings).enforcement(),
        Enforcement::Namespaces
    );
    check(&settings, |_| true);
    // The attacks are real.
    for attack in ATTACKS.iter().filter(|attack| attack.works_outside) {
        let fixture = Fixture::new();
        assert!(
            escape(&fixture, None, attack),
            "{} does not work",
            attack.name
        );
    }
}

pub(crate) fn landlock_only() {
    let settings = json!({ "mode": "workspace", "network": "off", "landlockOnly": true });
    let fixture = Fixture::new();
    let sandbox = fixture.sandbox(&settings);
    assert_eq!(sandbox.enforcement(), Enforcement::LandlockOnly);
    assert_eq!(sandbox.label(), "▣ workspace, unprotected, no network");
    check(&settings, |attack| {
        attack.landlock == Denies && !attack.name.contains("namespace")
    });
    let read_only = fixture.sandbox(&json!({ "mode": "read-only" }));
    assert_eq!(read_only.enforcement(), Enforcement::LandlockOnly);
    let written = fixture.run(Some(&read_only), "echo x > new");
    assert!(!written.status.success() && !fixture.project().join("new").exists());
    let read = fixture.run(Some(&read_only), "cat file.txt");
    assert_eq!(text(&read), "text\n");
}

pub(crate) fn no_support_is_an_error() {
    let fixture = Fixture::new();
    let error = start(&json!({ "mode": "workspace" }), &fixture.roots()).unwrap_err();
    assert!(matches!(error, SandboxError::Unprotected(_)), "{error}");
    let message = error.to_string();
    assert!(
        message.contains("user namespaces are not available"),
        "{message}"
    );
    assert!(message.contains("landlockOnly"), "{message}");
}

/// What pi creates, or replaces, while a command runs is as hidden from it as what was there before.
pub(crate) fn later_credentials_and_sockets() {
    for mode in ["workspace", "read-only"] {
        let fixture = Fixture::new();
        let agent = fixture.root().join("home/.pi/agent");
        for name in ["serve.json", "serve.sock"] {
            fs::remove_file(agent.join(name)).unwrap();
        }
        let sandbox = fixture.sandbox(&json!({ "mode": mode }));
        let script = "echo ready; read line; cd ~/.pi/agent; cat auth.json serve.json; \
             for socket in serve.sock live/new.sock; do $ATTACK __attack connect $socket && echo connected; done; \
             cat skills/skill.md; cat settings.json";
        let mut child = fixture
            .command(Some(&sandbox), "bash")
            .args(["-c", script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        for name in ["auth.json", "serve.json"] {
            write(&agent.join("new"), "SECRET\n");
            fs::rename(agent.join("new"), agent.join(name)).unwrap();
        }
        let _sockets = ["serve.sock", "live/new.sock"]
            .map(|name| UnixListener::bind(agent.join(name)).unwrap());
        child.stdin.take().unwrap().write_all(b"go\n").unwrap();
        let mut seen = String::new();
        output.read_to_string(&mut seen).unwrap();
        child.wait().unwrap();
        assert_eq!(seen, "text\n{}\n", "{mode}");
    }
}

/// A workspace inside of a writable directory could be moved away, and another one put in its place.
pub(crate) fn moved_directories() {
    let fixture = Fixture::new();
    let workspace = fixture.root().join("tmp/a/b");
    fs::create_dir_all(workspace.join("deep/.env.d")).unwrap();
    write(&workspace.join("deep/.env"), "SECRET\n");
    let mut roots = fixture.roots();
    roots.workspace.clone_from(&workspace);
    let sandbox = start(&json!({ "mode": "workspace" }), &roots).unwrap();
    for script in [
        "mv $TMPDIR/a $TMPDIR/c",
        "mv $TMPDIR/a/b $TMPDIR/a/c",
        "mv $TMPDIR/a/b/deep $TMPDIR/x && cat $TMPDIR/x/.env",
        "rm -rf $TMPDIR/a; mkdir -p $TMPDIR/a/b/.pi/x",
    ] {
        let output = fixture.run(Some(&sandbox), &format!("{script} && echo {ESCAPED}"));
        assert!(
            !text(&output).contains(ESCAPED),
            "{script}: {}",
            text(&output)
        );
        assert!(
            workspace.exists() && !workspace.join(".pi").exists(),
            "{script}"
        );
    }
    let written = fixture.run(
        Some(&sandbox),
        "echo x > $TMPDIR/a/b/new && mv $TMPDIR/a/b/new $TMPDIR/n",
    );
    assert!(written.status.success(), "{}", text(&written));
}

/// A socket of pi that is not hidden recognizes who connects to it.
pub(crate) fn confined_peers() {
    let fixture = Fixture::new();
    let socket = fixture.root().join("outside/serve.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    let peer = |sandbox: Option<&Sandbox>| {
        let mut command = fixture.command(sandbox, "bash");
        let script = "$ATTACK __attack connect-and-wait $OUTSIDE/serve.sock";
        let mut child = command.args(["-c", script]).spawn().unwrap();
        let (stream, _) = listener.accept().unwrap();
        let process = rustix::net::sockopt::socket_peercred(&stream).unwrap().pid;
        let is_confined = pi_sandbox::is_confined(process.as_raw_pid());
        drop(stream);
        assert!(child.wait().unwrap().success());
        is_confined
    };
    assert!(!peer(None));
    for settings in [
        json!({ "mode": "workspace" }),
        json!({ "mode": "read-only", "network": "off" }),
    ] {
        assert!(peer(Some(&fixture.sandbox(&settings))), "{settings}");
    }
    let tried = fixture
        .sandbox(&json!({ "mode": "try" }))
        .attempt()
        .unwrap();
    assert!(peer(Some(tried.sandbox())));
}

/// Returns the roots of a fixture with the repository that its project belongs to now.
fn roots_of_repository(fixture: &Fixture) -> Roots {
    let roots = fixture.roots();
    let found = Roots::find(
        &fixture.project(),
        &roots.agent_dir,
        &Env::fixed([("HOME", "/")]),
    );
    Roots {
        git_dirs: found.git_dirs,
        git_files: found.git_files,
        ..roots
    }
}

/// What `.git` becomes, given its path and that of the worktree's own directory.
type RepositoryStep = (&'static str, fn(&Path, &Path));

/// The `.git` of a worktree is a file, and may be a link: neither leads to another repository afterwards.
pub(crate) fn git_directories_elsewhere() {
    let fixture = Fixture::new();
    let (project, main) = (fixture.project(), fixture.root().join("main"));
    let linked = main.join(".git/worktrees/project");
    fs::create_dir_all(&linked).unwrap();
    for name in ["objects", "refs", "hooks"] {
        fs::create_dir(main.join(".git").join(name)).unwrap();
    }
    write(&main.join(".git/HEAD"), "ref: refs/heads/main\n");
    write(&linked.join("commondir"), "../..\n");
    let dot_git = project.join(".git");
    write(&linked.join("gitdir"), &format!("{}\n", dot_git.display()));
    fs::remove_dir_all(&dot_git).unwrap();
    let steps: [RepositoryStep; 2] = [
        ("file", |dot_git, linked| {
            write(dot_git, &format!("gitdir: {}\n", linked.display()));
        }),
        ("link", |dot_git, _| {
            fs::remove_file(dot_git).unwrap();
            std::os::unix::fs::symlink("real/.git", dot_git).unwrap();
            fs::create_dir_all(dot_git.with_file_name("real/.git/hooks")).unwrap();
        }),
    ];
    for (kind, make) in steps {
        make(&dot_git, &linked);
        let roots = roots_of_repository(&fixture);
        let sandbox = start(&json!({ "mode": "workspace" }), &roots).unwrap();
        let before = contents(&main);
        for script in [
            "echo gitdir: evil > .git",
            "rm .git",
            "mv .git g",
            "mkdir evil; ln -sfn evil .git",
            "mkdir -p .git/hooks && echo x > .git/hooks/pre-commit",
            "echo x > real/.git/hooks/pre-commit",
            "echo x > real/.git/config",
            "mv real r",
            "cd ../main/.git/worktrees/project && echo evil > commondir",
            "echo x > ../main/.git/hooks/pre-commit",
            "echo x > ../main/.git/config",
            "echo evil > ../main/.git/commondir",
        ] {
            let output = fixture.run(Some(&sandbox), &format!("{script} && echo {ESCAPED}"));
            assert!(
                !text(&output).contains(ESCAPED),
                "{kind}: {script}: {}",
                text(&output)
            );
        }
        assert_eq!(contents(&main), before, "{kind}");
        // What is protected can be read, and the workspace written.
        let script = "ls -d .git/hooks || grep gitdir .git && echo x > new && rm new && echo end";
        let read = fixture.run(Some(&sandbox), script);
        assert!(text(&read).contains("end\n"), "{kind}: {}", text(&read));
    }
}

/// git takes the settings of a directory that looks like a git directory, whatever its name is. They name programs.
pub(crate) fn workspace_as_git_directory() {
    const MAKE: &str = "printf '#!/bin/sh\ntouch %s\n' $OUTSIDE/escaped > evil; chmod +x evil; rm -f .git/HEAD; \
        printf '[core]\nrepositoryformatversion=0\nbare=false\nworktree=%s\nfsmonitor=%s\nsshCommand=%s\n' $PWD $PWD/evil $PWD/evil \
        > settings; ";
    const HERE: &str =
        "cp settings config; mkdir -p refs objects; echo ref: refs/heads/main > HEAD";
    const ELSEWHERE: &str = "mkdir -p other/refs other/objects; cp settings other/config; echo other > commondir; \
        echo ref: refs/heads/main > HEAD";
    const RENAMED: &str = "mkdir -p o/refs o/objects; mv o/refs o/objects .; cp settings config; \
        echo ref: refs/heads/main > HEAD";
    let has_git = std::process::Command::new("git").arg("--version").output();
    if !has_git.is_ok_and(|output| output.status.success()) {
        println!("skipped: git is not installed");
        return;
    }
    // In a repository, below one, and without one.
    for prepare in [
        "rm -rf .git; git init -q .",
        "rm -rf .git; git init -q ..",
        "rm -rf .git",
        "rm -rf .git; mkdir refs",
        "rm -rf .git; mkdir refs objects",
    ] {
        for attack in [HERE, ELSEWHERE, RENAMED] {
            for is_confined in [false, true] {
                let fixture = Fixture::new();
                let prepared = fixture.run(None, prepare);
                assert!(prepared.status.success(), "{}", text(&prepared));
                let roots = roots_of_repository(&fixture);
                let sandbox = start(&json!({ "mode": "workspace" }), &roots).unwrap();
                let script = format!("{MAKE}{attack}");
                fixture.run(is_confined.then_some(&sandbox), &script);
                // Nothing listens there.
                fixture.run(None, "git status; git ls-remote ssh://127.0.0.1:1/x");
                let has_escaped = fixture.root().join("outside/escaped").exists();
                assert_eq!(has_escaped, !is_confined, "{prepare}; {attack}");
            }
        }
    }
}

/// Directories with sockets of agents, whose names are not known before.
pub(crate) fn agents_in_temporary_directories() {
    let fixture = Fixture::new();
    let directory = tempfile::Builder::new().prefix("ssh-").tempdir_in("/tmp");
    let directory = directory.unwrap();
    let socket = directory.path().join("agent.1");
    let _listener = UnixListener::bind(&socket).unwrap();
    let roots = Roots {
        caches: vec!["/tmp".into()],
        ..fixture.roots()
    };
    let script = format!(
        "$ATTACK __attack connect {} && echo {ESCAPED}",
        socket.display()
    );
    assert!(text(&fixture.run(None, &script)).contains(ESCAPED));
    for settings in [
        json!({ "mode": "workspace" }),
        json!({ "mode": "workspace", "network": "off" }),
        json!({ "mode": "read-only" }),
    ] {
        let sandbox = start(&settings, &roots).unwrap();
        let output = fixture.run(Some(&sandbox), &script);
        assert!(!text(&output).contains(ESCAPED), "{settings}");
    }
}

/// A message bus starts programs for its clients. Its address may name a path or an abstract socket.
pub(crate) fn message_buses() {
    let fixture = Fixture::new();
    let directory = fixture.root().join("outside");
    let name = format!("{}/bus", fixture.root().display());
    let path = directory.join("bus");
    let _path_listener = UnixListener::bind(&path).unwrap();
    let abstract_name = SocketAddr::from_abstract_name(&name).unwrap();
    let _abstract_listener = UnixListener::bind_addr(&abstract_name).unwrap();
    let address = format!("unix:abstract={name};unix:path={},guid=1", path.display());
    let env = Env::fixed([("HOME", "/"), ("DBUS_SESSION_BUS_ADDRESS", &address)]);
    let found = Roots::find(&fixture.project(), &fixture.roots().agent_dir, &env);
    let roots = Roots {
        sockets: found.sockets,
        ..fixture.roots()
    };
    for (kind, target) in [
        ("connect", path.to_str().unwrap()),
        ("connect-abstract", &name),
    ] {
        let script = format!("$ATTACK __attack {kind} {target} && echo {ESCAPED}");
        assert!(
            text(&fixture.run(None, &script)).contains(ESCAPED),
            "{kind}"
        );
        for settings in [
            json!({ "mode": "workspace", "network": "off" }),
            json!({ "mode": "read-only", "network": "off" }),
            json!({ "mode": "workspace" }),
            json!({ "mode": "read-only" }),
        ] {
            // Landlock hides abstract sockets if the network is shared.
            if kind == "connect-abstract"
                && settings["network"] != "off"
                && !hides_abstract_sockets()
            {
                continue;
            }
            let sandbox = start(&settings, &roots).unwrap();
            let output = fixture.run(Some(&sandbox), &script);
            assert!(!text(&output).contains(ESCAPED), "{kind}: {settings}");
        }
    }
}

/// Since Linux 6.12.
fn hides_abstract_sockets() -> bool {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let mut numbers = release.split(['.', '-']).map(str::parse::<u32>);
    let version = (numbers.next().unwrap(), numbers.next().unwrap());
    (version.0.unwrap(), version.1.unwrap()) >= (6, 12)
}

/// Programs list the interfaces to resolve names: without the network there is only the one of the machine itself.
pub(crate) fn interfaces() {
    let fixture = Fixture::new();
    for mode in ["workspace", "read-only"] {
        let sandbox = fixture.sandbox(&json!({ "mode": mode, "network": "off" }));
        assert_eq!(sandbox.enforcement(), Enforcement::Namespaces);
        let output = fixture.run(Some(&sandbox), "$ATTACK __attack interfaces");
        assert_eq!(text(&output), "lo\n", "{mode}");
    }
}

/// A protected path that is a link can neither be replaced nor written through.
pub(crate) fn protected_link() {
    let fixture = Fixture::new();
    let project = fixture.project();
    fs::create_dir(project.join("config")).unwrap();
    write(&project.join("config/settings.json"), "{}");
    std::os::unix::fs::symlink("config", project.join(".pi")).unwrap();
    let sandbox = fixture.workspace_sandbox();
    for script in [
        "echo x > .pi/settings.json",
        "echo x > config/settings.json",
        "rm .pi",
        "ln -sfn other .pi",
        "mv .pi x",
        "mv config c",
    ] {
        let output = fixture.run(Some(&sandbox), script);
        assert!(!output.status.success(), "{script}: {}", text(&output));
    }
    assert_eq!(
        fs::read_link(project.join(".pi")).unwrap().to_str(),
        Some("config")
    );
    assert_eq!(
        fs::read(project.join("config/settings.json")).unwrap(),
        b"{}"
    );
}

pub(crate) fn read_only() {
    let fixture = Fixture::new();
    let sandbox = fixture.sandbox(&json!({ "mode": "read-only" }));
    let before = contents(&fixture.root());
    for script in [
        "echo x > new",
        "rm file.txt",
        "echo x > $TMPDIR/new",
        "echo x > /tmp/pi-sandbox-test",
    ] {
        let output = fixture.run(Some(&sandbox), script);
        assert!(!output.status.success(), "{script}: {}", text(&output));
    }
    assert_eq!(contents(&fixture.root()), before);
    let output = fixture.run(
        Some(&sandbox),
        "cat file.txt > /dev/null && echo x > /dev/shm/x && cat file.txt",
    );
    assert_eq!(text(&output), "text\n");
}
