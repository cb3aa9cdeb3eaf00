//! `pi fleet up`: the server of a fleet, with one user per role.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::remote::{connect, write_private};
use super::signals::Signals;
use super::words::{Failure, UpWords};
use super::{INTERRUPTED, eprint_line, print};
use crate::engine::{NatsEngine, NatsOptions, inbox_prefix};
use crate::settings::FleetSettings;

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

/// Subjects with which every role reads a stream. `STREAM` stands for its name, which a wildcard cannot be a part of. No
/// role may create, change, purge or delete streams.
const READ: [&str; 4] = [
    "$JS.API.STREAM.INFO.STREAM",
    "$JS.API.STREAM.MSG.GET.STREAM",
    "$JS.API.DIRECT.GET.STREAM",
    "$JS.API.DIRECT.GET.STREAM.>",
];

/// Subject with which every role looks at the queue. `FLEET` stands for the name of the fleet, here and below.
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
    words: &UpWords,
    settings: &FleetSettings,
) -> Result<u8, Failure> {
    let directory = words.directory.clone();
    let directory = directory.unwrap_or_else(|| root.join("server"));
    pi_fs::private::create_directory(&directory)
        .map_err(|error| Failure::new(format!("cannot create {}: {error}", directory.display())))?;
    let password = prepare(&directory, fleet, &words.listen)?;
    let mut command = tokio::process::Command::new(&words.server);
    command.arg("--config").arg(directory.join("server.conf"));
    command.kill_on_drop(true);
    let mut server = command.spawn().map_err(|error| {
        Failure::new(format!("cannot start {}: {error}", words.server.display()))
            .hint("install nats-server 2.12 or newer, or name it with --server PROGRAM")
    })?;
    let mut signals = Signals::listen()?;
    let port = words.listen.rsplit(':').next().unwrap_or("4222");
    let mut options = NatsOptions::new(format!("nats://127.0.0.1:{port}"));
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
            Err(failure) if attempts == START_ATTEMPTS || failure.cause.contains("version") => {
                return Err(failure);
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

/// Writes the configuration and the credentials, unless they exist. Returns the administrator's password.
fn prepare(directory: &Path, fleet: &str, listen: &str) -> Result<String, Failure> {
    let admin = directory.join("admin");
    let config = directory.join("server.conf");
    if config.exists()
        && let Ok(text) = std::fs::read_to_string(&admin)
        && let Some((_, password)) = text.trim().split_once(':')
    {
        return Ok(password.to_owned());
    }
    let names = ["admin"]
        .into_iter()
        .chain(ROLES.iter().map(|role| role.name));
    let mut passwords = Vec::new();
    for name in names {
        let password = random_password()?;
        write_private(&directory.join(name), &format!("{name}:{password}\n"))?;
        passwords.push(password);
    }
    let text = configuration(directory, fleet, listen, &passwords)?;
    write_private(&config, &text)?;
    Ok(passwords.swap_remove(0))
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
