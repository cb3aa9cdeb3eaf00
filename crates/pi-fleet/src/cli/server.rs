//! `pi fleet up`: the server of a fleet, with one user per role.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::remote::{connect, write_private};
use super::signals::Signals;
use super::words::{Failure, UpArgs};
use super::{INTERRUPTED, eprint_line, print};
use crate::engine::{NatsEngine, NatsOptions, inbox_prefix};
use crate::settings::FleetSettings;

/// Where the server listens unless `--listen` or its configuration says otherwise.
const LISTEN: &str = "127.0.0.1:4222";

/// Random bytes of a password.
const PASSWORD_BYTES: usize = 24;

/// How often the server is tried while it starts, and how long each time.
const START_ATTEMPTS: u32 = 100;
const START_PAUSE: Duration = Duration::from_millis(100);

/// What a user of the server may do. The administrator may do everything.
struct Role {
    name: &'static str,
    publish: &'static [&'static str],
    subscribe: &'static [&'static str],
}

/// Subjects with which every role reads a stream. `STREAM` is replaced by its name, which a wildcard cannot be a part of. No
/// role may create, change, purge or delete streams.
const READ: [&str; 4] = [
    "$JS.API.STREAM.INFO.STREAM",
    "$JS.API.STREAM.MSG.GET.STREAM",
    "$JS.API.DIRECT.GET.STREAM",
    "$JS.API.DIRECT.GET.STREAM.>",
];

/// Subject with which every role inspects the queue. `FLEET` is replaced by the name of the fleet, here and below.
const QUEUE: &str = "$JS.API.CONSUMER.INFO.PI_FLEET_RUNS.*";

/// Subject with which every role asks when the server writes to its disk. The system account offers it.
const DISK: &str = "$SYS.REQ.SERVER.PING.JSZ";

/// Subject with which every role adds the queues of a label.
const LABELS: &str = "$JS.API.CONSUMER.CREATE.PI_FLEET_RUNS.>";

const ROLES: [Role; 2] = [
    Role {
        name: "submit",
        publish: &[
            "pi.FLEET.run.>",
            "pi.FLEET.task.>",
            "pi.FLEET.batch.>",
            "pi.FLEET.msg.>",
            "pi.FLEET.owner.>",
            "pi.FLEET.ctl.>",
            // To open finished runs again.
            "pi.FLEET.log.>",
            "pi.FLEET.state.>",
            // Long tasks.
            "pi.FLEET.file.*.task.*",
        ],
        subscribe: &["pi.FLEET.live.>"],
    },
    Role {
        name: "worker",
        publish: &[
            "$JS.API.CONSUMER.MSG.NEXT.PI_FLEET_RUNS.*",
            "$JS.ACK.PI_FLEET_RUNS.>",
            "pi.FLEET.log.>",
            "pi.FLEET.state.>",
            "pi.FLEET.file.>",
            "pi.FLEET.cost.>",
            "pi.FLEET.limit.>",
            "pi.FLEET.drained.>",
            "pi.FLEET.owner.>",
            "pi.FLEET.live.>",
        ],
        subscribe: &[
            "pi.FLEET.owner.>",
            "pi.FLEET.msg.>",
            "pi.FLEET.ctl.>",
            "pi.FLEET.drained.>",
        ],
    },
];

/// Runs the server until it is stopped.
pub(super) async fn up(
    root: &Path,
    fleet: &str,
    words: &UpArgs,
    settings: &FleetSettings,
) -> Result<u8, Failure> {
    let directory = words.directory.clone();
    let directory = directory.unwrap_or_else(|| root.join("server"));
    pi_fs::private::create_directory(&directory)
        .map_err(|error| Failure::new(format!("cannot create {}: {error}", directory.display())))?;
    let Prepared { listen, password } = prepare(&directory, fleet, words.listen.as_deref())?;
    let (host, port) = client_address(&listen)?;
    let mut command = tokio::process::Command::new(&words.server);
    command.arg("--config").arg(directory.join("server.conf"));
    command.kill_on_drop(true);
    let mut signals = Signals::listen()?;
    let mut server = command.spawn().map_err(|error| {
        Failure::new(format!("cannot start {}: {error}", words.server.display()))
            .hint("install nats-server 2.12 or newer, or name it with --server PROGRAM")
    })?;
    let mut options = NatsOptions::new(format!("nats://{host}:{port}"));
    fleet.clone_into(&mut options.fleet);
    if let Some(lease) = settings.lease {
        options.lease = lease;
    }
    options.credentials = Some(("admin".to_owned(), password));
    let mut attempts = 0;
    loop {
        if let Ok(Some(status)) = server.try_wait() {
            return Err(Failure::new(format!("the server exited with {status}")));
        }
        match connect(&options).await {
            Ok(_engine) => break,
            Err(failure) if failure.cause.contains("version") => return Err(failure),
            Err(failure) if attempts == START_ATTEMPTS => {
                let cause = format!(
                    "cannot connect to the server at {host}:{port}: {}",
                    failure.cause
                );
                return Err(Failure::new(cause));
            }
            Err(_starting) => {
                attempts += 1;
                tokio::select! {
                    () = signals.next() => return Ok(INTERRUPTED),
                    () = tokio::time::sleep(START_PAUSE) => {}
                }
            }
        }
    }
    print(&format!(
        "The fleet `{fleet}` is ready. Copy {0}/worker to the machines of workers and {0}/submit to those that submit:\n  \
         export PI_FLEET_ENGINE=nats://HOST:{port} PI_FLEET_CREDENTIALS=worker\n  pi fleet worker --slots 8",
        directory.display()
    ));
    tokio::select! {
        status = server.wait() => {
            let status = status.map_or_else(|error| error.to_string(), |status| status.to_string());
            Err(Failure::new(format!("the server exited with {status}")))
        }
        () = signals.next() => {
            eprint_line("Stopping the server. Workers wait for it.");
            server.kill().await.ok();
            Ok(INTERRUPTED)
        }
    }
}

/// The address of a configuration, and the administrator's password.
struct Prepared {
    listen: String,
    password: String,
}

/// Writes the configuration and the credentials, unless they exist.
fn prepare(directory: &Path, fleet: &str, listen: Option<&str>) -> Result<Prepared, Failure> {
    let config = directory.join("server.conf");
    let stored = match std::fs::read_to_string(&config) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => {
            let path = config.display();
            return Err(Failure::new(format!("cannot read {path}: {error}")));
        }
    };
    let names = ["admin"]
        .into_iter()
        .chain(ROLES.iter().map(|role| role.name));
    let mut passwords = Vec::new();
    for name in names {
        let file = directory.join(name);
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        let password = text.trim().split_once(':').map(|(_, password)| password);
        match password {
            Some(password) => passwords.push(password.to_owned()),
            None if stored.is_some() => {
                let path = file.display();
                let cause = format!("cannot read the password of the server: {path}");
                return Err(Failure::new(cause).hint(remove_hint(&config)));
            }
            None => {
                let password = random_password()?;
                write_private(&file, &format!("{name}:{password}\n"))?;
                passwords.push(password);
            }
        }
    }
    let stored_listen = stored.as_deref().and_then(listen_of);
    let listen = listen.or(stored_listen).unwrap_or(LISTEN).to_owned();
    match &stored {
        Some(text) => check_stored(&config, text, fleet, &listen)?,
        None => {
            let text = configuration(directory, fleet, &listen, &passwords)?;
            write_private(&config, &text)?;
        }
    }
    let password = passwords.swap_remove(0);
    Ok(Prepared { listen, password })
}

/// Refuses a configuration for another address or fleet. A user may have changed it, so it is not replaced.
fn check_stored(config: &Path, text: &str, fleet: &str, listen: &str) -> Result<(), Failure> {
    let stored = listen_of(text).unwrap_or_default();
    let path = config.display();
    if stored != listen {
        let cause = format!("{path} listens on {stored}, not on {listen}");
        return Err(Failure::new(cause).hint(remove_hint(config)));
    }
    let streams = NatsEngine::stream_names(fleet)?;
    let is_of_fleet = streams.iter().all(|stream| text.contains(stream.as_str()));
    if is_of_fleet {
        return Ok(());
    }
    let cause = format!("{path} is not for the fleet `{fleet}`");
    Err(Failure::new(cause)
        .hint("name another directory with --dir, and another port with --listen"))
}

fn remove_hint(config: &Path) -> String {
    let path = config.display();
    format!("remove {path} to have it written again; passwords that exist are kept")
}

/// Returns the address in a configuration.
fn listen_of(configuration: &str) -> Option<&str> {
    let mut lines = configuration.lines();
    let value = lines.find_map(|line| line.trim().strip_prefix("listen:"))?;
    Some(value.trim().trim_matches('"'))
}

/// Returns host and port where this machine reaches a server that listens there.
fn client_address(listen: &str) -> Result<(String, u16), Failure> {
    let invalid = || {
        Failure::new(format!("cannot listen on {listen}"))
            .hint("name HOST:PORT, such as 127.0.0.1:4222")
    };
    let (host, port) = listen.rsplit_once(':').ok_or_else(invalid)?;
    let port: u16 = port.parse().map_err(|_invalid| invalid())?;
    let is_address_6 = host.contains(':');
    let is_bracketed = host.starts_with('[') && host.ends_with(']');
    if host.is_empty() || is_address_6 && !is_bracketed {
        return Err(invalid());
    }
    let host = match host {
        "0.0.0.0" => "127.0.0.1",
        "[::]" => "[::1]",
        host => host,
    };
    Ok((host.to_owned(), port))
}

fn configuration(
    directory: &Path,
    fleet: &str,
    listen: &str,
    passwords: &[String],
) -> Result<String, Failure> {
    let streams = NatsEngine::stream_names(fleet)?;
    let quoted = |text: &str| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
    let data: PathBuf = directory.join("data");
    let mut text = format!(
        "# Written by pi fleet up.\nlisten: {}\n# Without it, the server syncs every two minutes.\njetstream {{ store_dir: {}, \
         sync_interval: always }}\nsystem_account: SYS\naccounts {{\n  SYS: {{ exports: [ {{ service: \"{DISK}\", \
         response_type: stream }} ] }}\n  FLEET: {{\n    jetstream: enabled\n    imports: [ {{ service: {{ account: SYS, \
         subject: \"{DISK}\" }} }} ]\n    users: [\n",
        quoted(listen),
        quoted(&data.to_string_lossy())
    );
    let (admin, others) = passwords
        .split_first()
        .map_or(("", passwords), |(one, more)| (one, more));
    let mut line = |line: String| {
        let _infallible = writeln!(text, "      {line}");
    };
    line(format!("{{ user: admin, password: {} }}", quoted(admin)));
    for (role, password) in ROLES.iter().zip(others) {
        let list = |subjects: &mut dyn Iterator<Item = String>| {
            let subjects: Vec<String> = subjects.map(|subject| quoted(&subject)).collect();
            subjects.join(", ")
        };
        let named = |subject: &&str| subject.replace("FLEET", fleet);
        let read = streams.iter().flat_map(|stream| {
            // The word is a part of some subjects.
            READ.map(|subject| {
                let (start, end) = subject.rsplit_once("STREAM").unwrap_or((subject, ""));
                format!("{start}{stream}{end}")
            })
        });
        let others = [QUEUE, LABELS, DISK].iter().chain(role.publish).map(named);
        let publish = list(&mut read.chain(others));
        let inbox = format!("{}.>", inbox_prefix(role.name));
        let subscribe = list(&mut role.subscribe.iter().map(named).chain([inbox]));
        line(format!(
            "{{ user: {}, password: {}, permissions: {{ publish: [{publish}], subscribe: [{subscribe}], allow_responses: \
             true }} }}",
            role.name,
            quoted(password)
        ));
    }
    text.push_str("    ]\n  }\n}\n");
    Ok(text)
}

fn random_password() -> Result<String, Failure> {
    let mut bytes = [0; PASSWORD_BYTES];
    getrandom::fill(&mut bytes)
        .map_err(|error| Failure::new(format!("cannot create a password: {error}")))?;
    Ok(pi_protocol::hex(&bytes))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn a_server_is_reached_where_it_listens() {
        for (listen, expected) in [
            ("10.0.0.1:4222", Some(("10.0.0.1", 4222))),
            ("0.0.0.0:1", Some(("127.0.0.1", 1))),
            ("[::]:2", Some(("[::1]", 2))),
            ("[fd00::1]:3", Some(("[fd00::1]", 3))),
            ("host:4", Some(("host", 4))),
            ("4222", None),
            (":4222", None),
            ("host:port", None),
            ("::1:4222", None),
        ] {
            let found = client_address(listen).ok();
            let expected = expected.map(|(host, port)| (host.to_owned(), port));
            assert_eq!(found, expected, "{listen}");
        }
    }

    #[test]
    fn a_configuration_for_another_address_or_fleet_is_not_used() {
        let directory = tempfile::tempdir().unwrap();
        let prepare = |fleet, listen| prepare(directory.path(), fleet, listen);
        let first = prepare("main", Some("10.0.0.1:1")).ok().unwrap();
        assert_eq!(first.listen, "10.0.0.1:1");
        let again = prepare("main", None).ok().unwrap();
        assert_eq!(
            (&again.listen, &again.password),
            (&first.listen, &first.password)
        );
        let other_address = prepare("main", Some("10.0.0.1:2")).err().unwrap();
        assert!(
            other_address
                .cause
                .contains("listens on 10.0.0.1:1, not on 10.0.0.1:2")
        );
        let other_fleet = prepare("other", None).err().unwrap();
        assert!(other_fleet.cause.contains("is not for the fleet `other`"));
        std::fs::remove_file(directory.path().join("server.conf")).unwrap();
        let changed = prepare("main", Some("10.0.0.1:2")).ok().unwrap();
        assert_eq!(
            (changed.listen.as_str(), changed.password),
            ("10.0.0.1:2", first.password)
        );
    }
}
