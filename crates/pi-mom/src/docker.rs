//! Tools in a running container, through `docker exec`. The workspace is mounted there at `/workspace`.
//!
//! Files are accessed by commands in the container, never on the host: a link that the container creates would lead
//! out of it otherwise.

use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::{BoxFuture, FutureExt as _};
use pi_core::{
    DirectoryEntry, Environment, ExitCode, FileError, FileFuture, FileKind, FileOperations,
    FileStatus, FoundLines, FoundPaths, LineQuery, OpenFile, PathQuery, ProcessError,
    ProcessOperations, SearchError, SearchFuture, SearchOperations, ShellCommand, Variables,
};
use pi_env::Env;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::session::CONTAINER_WORKSPACE;

/// Output that waits to be read.
const OUTPUT_CHUNKS: usize = 64;

/// Exit codes of the file commands.
const MISSING: i32 = 44;
const NOT_A_DIRECTORY: i32 = 45;
const DENIED: i32 = 46;

#[derive(Clone)]
struct Container {
    name: String,
    /// The workspace on the host.
    workspace: PathBuf,
    /// Runs `docker` on this machine.
    local: Arc<dyn ProcessOperations>,
    variables: Variables,
}

/// Returns the environment of a running container.
pub fn docker_environment(name: &str, workspace: &Path, env: &Env) -> Environment {
    let variables = env.variables().into_iter();
    let container = Container {
        name: name.to_owned(),
        workspace: workspace.to_owned(),
        local: Arc::new(pi_tools::LocalShell::default()),
        variables: variables
            .map(|(name, value)| (name.into(), value.into()))
            .collect(),
    };
    let container = Arc::new(container);
    Environment {
        files: Arc::clone(&container) as _,
        processes: Arc::clone(&container) as _,
        search: container,
        vars: Variables::new(),
        home: None,
    }
}

/// What a command in the container wrote.
struct Finished {
    code: Option<i32>,
    output: Vec<u8>,
}

impl Container {
    /// Returns where a path of the host is in the container.
    fn inner(&self, path: &Path) -> PathBuf {
        match path.strip_prefix(&self.workspace) {
            Ok(relative) => Path::new(CONTAINER_WORKSPACE).join(relative),
            Err(_) => path.to_owned(),
        }
    }

    /// Returns the command line for this machine.
    fn exec(&self, cwd: &Path, variables: &Variables, script: &str) -> String {
        let mut line = format!("exec docker exec -i -w {}", quoted(&cwd.to_string_lossy()));
        for (name, value) in variables {
            let pair = format!("{}={}", name.to_string_lossy(), value.to_string_lossy());
            line.push_str(" -e ");
            line.push_str(&quoted(&pair));
        }
        line.push(' ');
        line.push_str(&quoted(&self.name));
        line.push_str(" sh -c ");
        line.push_str(&quoted(script));
        line
    }

    fn local_command(&self, command: String) -> ShellCommand {
        ShellCommand {
            command,
            cwd: self.workspace.clone(),
            environment: self.variables.clone(),
            ..ShellCommand::default()
        }
    }

    /// Runs a script with a path as `$1`, and input.
    async fn run(
        &self,
        script: &str,
        path: &Path,
        input: Option<Vec<u8>>,
    ) -> Result<Finished, FileError> {
        let path = self.inner(path);
        let script = format!("set -- {}; {script}", quoted(&path.to_string_lossy()));
        let command = self.local_command(self.exec(Path::new("/"), &Variables::new(), &script));
        let (to_command, from_us) = mpsc::channel(1);
        let (to_us, mut output) = mpsc::channel::<Bytes>(OUTPUT_CHUNKS);
        let feeding = async move {
            if let Some(input) = input {
                // The command may end without reading everything.
                to_command.send(Bytes::from(input)).await.ok();
            }
        };
        let collecting = async {
            let mut collected = Vec::new();
            while let Some(chunk) = output.recv().await {
                collected.extend_from_slice(&chunk);
            }
            collected
        };
        let cancel = CancellationToken::new();
        let executing = self
            .local
            .execute_with_input(command, from_us, to_us, cancel);
        let (executed, (), output) = tokio::join!(executing, feeding, collecting);
        let code = executed.map_err(|error| FileError::Other(std::io::Error::other(error)))?;
        Ok(Finished {
            code: code.0,
            output,
        })
    }

    /// Runs a script that must succeed.
    async fn output(
        &self,
        script: &str,
        path: &Path,
        input: Option<Vec<u8>>,
    ) -> Result<Vec<u8>, FileError> {
        let finished = self.run(script, path, input).await?;
        match finished.code {
            Some(0) => Ok(finished.output),
            Some(MISSING) => Err(FileError::Missing),
            Some(NOT_A_DIRECTORY) => Err(FileError::NotADirectory),
            Some(DENIED) => Err(FileError::Denied),
            code => {
                let text = String::from_utf8_lossy(&finished.output);
                let text = text.trim().chars().take(500).collect::<String>();
                let message = format!("docker exec failed ({code:?}): {text}");
                Err(FileError::Other(std::io::Error::other(message)))
            }
        }
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

impl ProcessOperations for Container {
    fn execute(
        &self,
        command: ShellCommand,
        output: mpsc::Sender<Bytes>,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<ExitCode, ProcessError>> {
        let (sender, input) = mpsc::channel(1);
        drop(sender);
        self.execute_with_input(command, input, output, cancel)
    }

    fn execute_with_input(
        &self,
        command: ShellCommand,
        input: mpsc::Receiver<Bytes>,
        output: mpsc::Sender<Bytes>,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<ExitCode, ProcessError>> {
        async move {
            let mark = format!("/tmp/.pi-mom-{}", uuid_like());
            // Ending the client of docker does not end the command: its process group is killed by number.
            let script = format!(
                "echo $$ > {mark}; if command -v bash >/dev/null 2>&1; then bash -c {0}; else sh -c {0}; fi; \
                 code=$?; rm -f {mark}; exit $code",
                quoted(&command.command)
            );
            let line = self.exec(&self.inner(&command.cwd), &command.environment, &script);
            let local = ShellCommand {
                timeout: command.timeout,
                ..self.local_command(line)
            };
            let ended = self.local.execute_with_input(local, input, output, cancel).await;
            if matches!(ended, Err(ProcessError::Aborted | ProcessError::TimedOut(_))) {
                let kill = "kill -KILL -- -$(cat \"$1\") 2>/dev/null || kill -KILL $(cat \"$1\"); rm -f \"$1\"";
                if let Err(error) = self.run(kill, Path::new(&mark), None).await {
                    tracing::warn!(%error, "cannot end a command in the container");
                }
            }
            ended
        }
        .boxed()
    }
}

/// Returns a name that no other command has.
fn uuid_like() -> String {
    use std::sync::atomic::{AtomicU64, Ordering};

    static NEXT: AtomicU64 = AtomicU64::new(0);
    format!(
        "{}-{}",
        std::process::id(),
        NEXT.fetch_add(1, Ordering::Relaxed)
    )
}

/// Ends a script with the code of what is wrong with a path.
const CHECK: &str = "[ -e \"$1\" ] || exit 44; [ -r \"$1\" ] || exit 46;";

impl FileOperations for Container {
    fn real_path<'a>(&'a self, path: &'a Path) -> FileFuture<'a, PathBuf> {
        async move {
            let script =
                "readlink -m -- \"$1\" 2>/dev/null || readlink -f \"$1\" || printf '%s\\n' \"$1\"";
            let output = self.output(script, path, None).await?;
            let text = String::from_utf8_lossy(&output);
            Ok(PathBuf::from(text.strip_suffix('\n').unwrap_or(&text)))
        }
        .boxed()
    }

    fn status<'a>(&'a self, path: &'a Path) -> FileFuture<'a, FileStatus> {
        async move {
            let script = "[ -e \"$1\" ] || exit 44; if [ -d \"$1\" ]; then echo d 0; elif [ -f \"$1\" ]; then \
                          echo f $(wc -c < \"$1\"); elif [ -p \"$1\" ]; then echo p 0; else echo o 0; fi";
            let output = self.output(script, path, None).await?;
            Ok(parse_status(&output))
        }
        .boxed()
    }

    fn open<'a>(&'a self, path: &'a Path) -> FileFuture<'a, OpenFile> {
        async move {
            let status = self.status(path).await?;
            if status.kind != FileKind::File {
                return Err(FileError::NotAFile(status.kind));
            }
            let bytes = self
                .output(&format!("{CHECK} cat \"$1\""), path, None)
                .await?;
            Ok(OpenFile {
                size: bytes.len() as u64,
                reader: Box::new(Cursor::new(bytes)),
            })
        }
        .boxed()
    }

    fn open_real<'a>(&'a self, path: &'a Path) -> FileFuture<'a, OpenFile> {
        self.open(path)
    }

    fn list<'a>(&'a self, path: &'a Path) -> FileFuture<'a, Vec<DirectoryEntry>> {
        async move {
            let script = format!(
                "{CHECK} [ -d \"$1\" ] || exit 45; cd \"$1\" || exit 46; for f in * .[!.]* ..?*; do \
                 [ -e \"$f\" ] || [ -L \"$f\" ] || continue; if [ -d \"$f\" ]; then printf 'd%s\\0' \"$f\"; \
                 elif [ -f \"$f\" ]; then printf 'f%s\\0' \"$f\"; else printf 'o%s\\0' \"$f\"; fi; done"
            );
            let output = self.output(&script, path, None).await?;
            let entries = output.split(|byte| *byte == 0).filter_map(|entry| {
                let (kind, name) = entry.split_first()?;
                Some(DirectoryEntry {
                    name: String::from_utf8_lossy(name).into_owned().into(),
                    kind: match kind {
                        b'd' => Some(FileKind::Directory),
                        b'f' => Some(FileKind::File),
                        _ => None,
                    },
                })
            });
            Ok(entries.collect())
        }
        .boxed()
    }

    fn check_editable<'a>(&'a self, path: &'a Path) -> FileFuture<'a, ()> {
        async move {
            let script = format!("{CHECK} [ -w \"$1\" ] || exit 46");
            self.output(&script, path, None).await.map(drop)
        }
        .boxed()
    }

    fn create_directories<'a>(&'a self, path: &'a Path) -> FileFuture<'a, ()> {
        async move { self.output("mkdir -p \"$1\"", path, None).await.map(drop) }.boxed()
    }

    fn replace<'a>(&'a self, path: &'a Path, contents: Vec<u8>) -> FileFuture<'a, ()> {
        async move {
            // Written as a whole, then moved; the mode of an existing file is kept.
            let script = "t=\"$1.pi-mom-$$\"; cat > \"$t\" || { rm -f \"$t\"; exit 46; }; \
                          [ ! -e \"$1\" ] || chmod --reference=\"$1\" \"$t\" 2>/dev/null; mv -f \"$t\" \"$1\"";
            self.output(script, path, Some(contents)).await.map(drop)
        }
        .boxed()
    }
}

fn parse_status(output: &[u8]) -> FileStatus {
    let text = String::from_utf8_lossy(output);
    let mut words = text.split_whitespace();
    let kind = match words.next() {
        Some("f") => FileKind::File,
        Some("d") => FileKind::Directory,
        Some("p") => FileKind::Pipe,
        _ => FileKind::Other,
    };
    let size = words.next().and_then(|size| size.parse().ok());
    FileStatus {
        kind,
        size: size.unwrap_or_default(),
    }
}

impl SearchOperations for Container {
    fn find_paths(
        &self,
        _query: PathQuery,
        _cancel: CancellationToken,
    ) -> SearchFuture<'_, FoundPaths> {
        no_search()
    }

    fn find_lines(
        &self,
        _query: LineQuery,
        _cancel: CancellationToken,
    ) -> SearchFuture<'_, FoundLines> {
        no_search()
    }
}

fn no_search<'a, T: Send + 'a>() -> SearchFuture<'a, T> {
    let error = "not available in a container; use find or grep with the bash tool";
    async move { Err(SearchError::Failed(error.to_owned())) }.boxed()
}
