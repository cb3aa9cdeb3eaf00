//! Directories that build tools need, and sockets of programs that run commands for others.

use std::path::{Path, PathBuf};

use pi_env::Env;

use crate::roots::real;

/// Directories for temporary files.
const TEMPORARY: [&str; 2] = ["/tmp", "/var/tmp"];

/// Variables that name a temporary directory or a cache.
const CACHE_VARIABLES: [&str; 11] = [
    "TMPDIR",
    "XDG_CACHE_HOME",
    "CARGO_TARGET_DIR",
    "npm_config_cache",
    "PIP_CACHE_DIR",
    "UV_CACHE_DIR",
    "POETRY_CACHE_DIR",
    "GOCACHE",
    "GOMODCACHE",
    "CCACHE_DIR",
    "SCCACHE_DIR",
];

/// Caches in the home directory that are created: their tools fail without them.
const CREATED_CACHES: [&str; 2] = [".cache", ".npm"];

/// Caches in the home directory. Programs and settings next to them, such as `~/.cargo/bin`, are not writable: what is there
/// runs outside of the sandbox.
const CACHES: [&str; 34] = [
    ".cargo/registry",
    ".cargo/git",
    ".cargo/.package-cache",
    ".cargo/.package-cache-mutate",
    ".cargo/.global-cache",
    "go/pkg",
    ".gradle/caches",
    ".gradle/wrapper",
    ".gradle/daemon",
    ".gradle/native",
    ".gradle/workers",
    ".gradle/notifications",
    ".gradle/jdks",
    ".gradle/.tmp",
    ".gradle/kotlin-profile",
    ".m2/repository",
    ".ivy2",
    ".sbt/boot",
    ".nuget/packages",
    ".local/share/pnpm/store",
    ".local/share/NuGet",
    ".pnpm-store",
    ".yarn/berry",
    ".bun/install/cache",
    ".composer/cache",
    ".hex",
    ".pub-cache/hosted",
    ".pub-cache/hosted-hashes",
    ".pub-cache/git",
    ".pub-cache/_temp",
    ".pub-cache/log",
    ".stack/pantry",
    ".cabal/packages",
    ".julia/registries",
];

/// macOS keeps caches elsewhere.
const MACOS_CACHES: [&str; 1] = ["Library/Caches"];

/// Sockets, and directories of sockets, of the system.
const SYSTEM_SOCKETS: [&str; 18] = [
    "/run/docker.sock",
    "/var/run/docker.sock",
    "/run/docker",
    "/run/podman",
    "/run/containerd",
    "/run/crio",
    "/run/dbus",
    "/run/systemd/private",
    "/run/systemd/notify",
    "/run/systemd/journal",
    "/run/systemd/userdb",
    "/run/snapd.socket",
    "/run/libvirt",
    "/run/screen",
    "/run/user",
    "/var/lib/lxd/unix.socket",
    "/tmp/.X11-unix",
    "/tmp/.ICE-unix",
];

/// Sockets in the home directory.
const USER_SOCKETS: [&str; 5] = [
    ".docker/run",
    ".docker/desktop",
    ".colima",
    ".gnupg/S.gpg-agent",
    ".gnupg/S.gpg-agent.ssh",
];

/// Variables that name a socket or a directory of sockets.
const SOCKET_VARIABLES: [&str; 6] = [
    "XDG_RUNTIME_DIR",
    "SSH_AUTH_SOCK",
    "SSH_AGENT_LAUNCHER_SOCK",
    "NVIM",
    "VSCODE_IPC_HOOK_CLI",
    "VSCODE_GIT_IPC_HANDLE",
];

/// Variables with an address that contains the path of a socket.
const ADDRESS_VARIABLES: [&str; 9] = [
    "AT_SPI_BUS_ADDRESS",
    "CONTAINER_HOST",
    "DBUS_SESSION_BUS_ADDRESS",
    "DBUS_STARTER_ADDRESS",
    "DBUS_SYSTEM_BUS_ADDRESS",
    "DOCKER_HOST",
    "TMUX",
    "KITTY_LISTEN_ON",
    "PULSE_SERVER",
];

/// Starts of the names of directories of sockets in `/tmp`: terminal multiplexers, agents and editors.
const TEMPORARY_SOCKET_NAMES: [&str; 7] = [
    "tmux-", "ssh-", "screen-", "emacs", "kitty-", "dbus-", "vscode-",
];

/// Returns the temporary directories and the caches that exist.
pub(crate) fn caches(home: Option<&Path>, env: &Env) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = TEMPORARY.iter().map(PathBuf::from).collect();
    let named = CACHE_VARIABLES.iter().filter_map(|name| env.var(name));
    paths.extend(named.map(PathBuf::from));
    if let Some(cargo) = env.var("CARGO_HOME").map(PathBuf::from) {
        paths.extend(["registry", "git", ".package-cache"].map(|name| cargo.join(name)));
    }
    if let Some(gradle) = env.var("GRADLE_USER_HOME").map(PathBuf::from) {
        let in_home = CACHES
            .iter()
            .filter_map(|name| name.strip_prefix(".gradle/"));
        paths.extend(in_home.map(|name| gradle.join(name)));
    }
    if let Some(home) = home {
        for name in CREATED_CACHES {
            // Fails in a home directory that cannot be written; then there is no cache.
            std::fs::create_dir(home.join(name)).ok();
            paths.push(home.join(name));
        }
        let others: &[&str] = if cfg!(target_os = "macos") {
            &MACOS_CACHES
        } else {
            &[]
        };
        paths.extend(CACHES.iter().chain(others).map(|name| home.join(name)));
    }
    let is_home_or_above = |path: &PathBuf| home.is_some_and(|home| home.starts_with(path));
    paths.retain(|path| path.is_absolute() && path.exists());
    let mut paths: Vec<PathBuf> = paths.iter().map(|path| real(path)).collect();
    // A variable that names a large part of the machine would undo the sandbox.
    paths.retain(|path| !is_home_or_above(path));
    paths
}

/// Returns sockets, and directories that contain only sockets. They may be created later.
pub(crate) fn sockets(home: Option<&Path>, env: &Env) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = SYSTEM_SOCKETS.iter().map(PathBuf::from).collect();
    if let Some(home) = home {
        paths.extend(USER_SOCKETS.map(|name| home.join(name)));
    }
    let named = SOCKET_VARIABLES.iter().filter_map(|name| env.var(name));
    paths.extend(named.map(PathBuf::from));
    let addresses = ADDRESS_VARIABLES.iter().filter_map(|name| env.var(name));
    paths.extend(addresses.flat_map(|address| paths_in_addresses(&address)));
    paths.retain(|path| path.is_absolute());
    let mut paths: Vec<PathBuf> = paths.iter().map(|path| real(path)).collect();
    if cfg!(not(target_os = "linux")) {
        paths.extend(temporary_sockets());
    }
    paths.sort();
    paths.dedup();
    paths
}

/// Returns the directories of sockets that are in `/tmp` now.
pub(crate) fn temporary_sockets() -> impl Iterator<Item = PathBuf> {
    let entries = std::fs::read_dir("/tmp").into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        TEMPORARY_SOCKET_NAMES
            .iter()
            .any(|start| name.starts_with(start))
    })
}

/// Returns the paths in a list of addresses.
fn paths_in_addresses(addresses: &str) -> Vec<PathBuf> {
    addresses.split(';').filter_map(path_in_address).collect()
}

/// Returns the path in an address such as `unix:path=/run/user/1000/bus,guid=1` or `/tmp/tmux-0/default,1,0`.
fn path_in_address(address: &str) -> Option<PathBuf> {
    let (_, path) = address.split_once('/')?;
    let path = path.trim_start_matches('/').split(',').next()?;
    Some(Path::new("/").join(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_contain_paths() {
        for (address, path) in [
            (
                "unix:path=/run/user/1000/bus,guid=1",
                &["/run/user/1000/bus"][..],
            ),
            ("unix:///var/run/docker.sock", &["/var/run/docker.sock"]),
            ("/tmp/tmux-0/default,123,0", &["/tmp/tmux-0/default"]),
            ("unix:abstract=x", &[]),
            (
                "unix:abstract=x;unix:path=/a/b,guid=1;unix:path=/c",
                &["/a/b", "/c"],
            ),
        ] {
            let expected: Vec<PathBuf> = path.iter().map(PathBuf::from).collect();
            assert_eq!(paths_in_addresses(address), expected, "{address}");
        }
    }

    /// Build scripts, settings and programs of the user run outside of the sandbox.
    #[test]
    fn caches_contain_nothing_that_runs_elsewhere() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        let gradle = home.join("gradle");
        for path in [
            ".gradle/init.d",
            ".gradle/caches",
            "gradle/init.d",
            "gradle/caches",
            ".pub-cache/bin",
            ".pub-cache/hosted",
            ".cargo/bin",
            ".cargo/registry",
            "go/bin",
            "go/pkg",
        ] {
            std::fs::create_dir_all(home.join(path)).unwrap();
        }
        let env = Env::fixed([("GRADLE_USER_HOME", gradle.to_str().unwrap())]);
        let caches = caches(Some(&home), &env);
        let is_writable = |path: &str| {
            caches
                .iter()
                .any(|cache| home.join(path).starts_with(cache))
        };
        for path in [".gradle", "gradle", ".pub-cache", ".cargo", "go"] {
            let [programs, cache] = match path {
                ".gradle" | "gradle" => ["init.d/x.gradle", "caches/x"],
                ".pub-cache" => ["bin/x", "hosted/x"],
                ".cargo" => ["bin/x", "registry/x"],
                _ => ["bin/x", "pkg/x"],
            };
            assert!(!is_writable(&format!("{path}/{programs}")), "{path}");
            assert!(is_writable(&format!("{path}/{cache}")), "{path}");
        }
        assert!(!is_writable(".gradle/gradle.properties"));
    }

    #[test]
    fn a_variable_does_not_make_the_home_directory_writable() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().to_string_lossy().into_owned();
        let env = Env::fixed([("GOCACHE", path.as_str()), ("TMPDIR", "/")]);
        let home = home.path().canonicalize().unwrap();
        let caches = caches(Some(&home), &env);
        assert!(!caches.contains(&home) && !caches.contains(&PathBuf::from("/")));
        assert!(caches.contains(&home.join(".npm")));
    }
}
