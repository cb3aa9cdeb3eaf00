//! The conversation with one `node` process, from its start to its end, on a thread of its own.

use std::collections::{HashMap, VecDeque};
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{
    AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, BufReader,
};
use tokio::process::{Child, ChildStdin};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::Instant;

use super::NodeHostError;
use super::frame::{self, Area, FromNode, Question, ToNode};
use super::modules::{self, Modules};
use super::terminal::Terminal;
use crate::engine::EngineOptions;
use crate::error::EngineError;
use crate::host::{ConsoleLevel, ConsoleLine, Fault, FaultKind, HostError};

/// How long Node may take until it can be asked.
const START: Duration = Duration::from_secs(30);

/// How long Node may be silent while somebody waits. It cannot be interrupted, and an extension may well
/// wait for a program it runs; so it is given more time than code on our own engine.
const SILENCE: Duration = Duration::from_mins(1);

/// How often it is asked for a sign of life while somebody waits.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// How long Node may take to end once nobody needs it.
const FAREWELL: Duration = Duration::from_secs(2);

/// The longest line Node may say; a session with its pictures is far below.
const LONGEST_LINE: u64 = 256 * 1024 * 1024;

/// Lines that were read and not yet understood. Node waits when there are more.
const LINES_AHEAD: usize = 64;

/// How many of its last words are kept for the message about its end.
const LAST_WORDS: usize = 20;

/// What a call became.
pub(crate) type CallResult = Result<Value, EngineError>;

/// A call of an exported function.
#[derive(Debug)]
pub(super) struct Command {
    pub(super) id: u64,
    pub(super) module: String,
    pub(super) export: String,
    pub(super) arguments: Vec<Value>,
    pub(super) extension: Option<String>,
    pub(super) reply: oneshot::Sender<CallResult>,
}

/// A line of one of its streams.
enum Line {
    Output(String),
    Error(String),
}

/// Runs Node until nobody needs it or it ends; then `failure` says why.
pub(super) fn run(
    options: &EngineOptions,
    mut commands: mpsc::UnboundedReceiver<Command>,
    failure: &OnceLock<NodeHostError>,
) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let ended = match runtime {
        Ok(runtime) => runtime.block_on(Conversation::hold(options, &mut commands, failure)),
        Err(error) => Err(NodeHostError::Start(error.to_string())),
    };
    if let Err(error) = ended {
        // Set once: this thread is the only writer.
        drop(failure.set(error));
    }
    // Not before: whoever still waits in the queue asks why.
    drop(commands);
}

struct Conversation<'a> {
    options: &'a EngineOptions,
    input: ChildStdin,
    modules: Modules,
    terminal: Terminal,
    calls: HashMap<u64, oneshot::Sender<CallResult>>,
    requests: JoinSet<(u64, Result<Value, HostError>)>,
    underway: HashMap<u64, AbortHandle>,
    /// When it was asked for a sign of life that has not come.
    asked: Option<Instant>,
    last_words: VecDeque<String>,
}

/// How a step of the conversation ended it.
enum Ending {
    /// Nobody needs Node any more.
    NotNeeded,
    /// Node says no more.
    Closed,
    Failed(NodeHostError),
}

impl<'a> Conversation<'a> {
    async fn hold(
        options: &'a EngineOptions,
        commands: &mut mpsc::UnboundedReceiver<Command>,
        failure: &OnceLock<NodeHostError>,
    ) -> Result<(), NodeHostError> {
        let mut child = spawn(options)?;
        let (Some(input), Some(output), Some(errors)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(NodeHostError::Start("it has no streams".to_owned()));
        };
        let (lines, receiver) = mpsc::channel(LINES_AHEAD);
        let mut readers = JoinSet::new();
        readers.spawn(pass_on(output, lines.clone(), Line::Output));
        readers.spawn(pass_on(errors, lines, Line::Error));
        let kit = options.terminal_kit.as_ref();
        let mut conversation = Self {
            options,
            input,
            modules: Modules::new(options),
            terminal: Terminal::new(kit.map(|kit| Arc::clone(&kit.0))),
            calls: HashMap::new(),
            requests: JoinSet::new(),
            underway: HashMap::new(),
            asked: None,
            last_words: VecDeque::new(),
        };
        let ending = conversation.go_on(commands, receiver).await;
        conversation.end(child, ending, failure).await
    }

    /// Gets ready, then serves both sides until one of them ends it.
    async fn go_on(
        &mut self,
        commands: &mut mpsc::UnboundedReceiver<Command>,
        mut lines: mpsc::Receiver<Line>,
    ) -> Ending {
        match tokio::time::timeout(START, self.get_ready(&mut lines)).await {
            Ok(Ok(())) => {}
            Ok(Err(ending)) => return ending,
            Err(_) => {
                let message = format!("it was not ready within {} s", START.as_secs());
                return Ending::Failed(NodeHostError::Start(message));
            }
        }
        let mut heartbeat = tokio::time::interval(HEARTBEAT);
        loop {
            let step = tokio::select! {
                command = commands.recv() => match command {
                    Some(command) => self.invoke(command).await,
                    None => Err(Ending::NotNeeded),
                },
                line = lines.recv() => match line {
                    Some(line) => self.hear(line).await.map(drop),
                    None => Err(Ending::Closed),
                },
                Some(answered) = self.requests.join_next() => match answered {
                    Ok((id, answer)) => {
                        self.underway.remove(&id);
                        self.say(&ToNode::answer(id, answer)).await
                    }
                    // Given up by the script.
                    Err(_) => Ok(()),
                },
                _ = heartbeat.tick() => self.feel_pulse().await,
            };
            if let Err(ending) = step {
                return ending;
            }
        }
    }

    async fn get_ready(&mut self, lines: &mut mpsc::Receiver<Line>) -> Result<(), Ending> {
        while let Some(line) = lines.recv().await {
            if self.hear(line).await? {
                return Ok(());
            }
        }
        Err(Ending::Closed)
    }

    async fn say(&mut self, frame: &ToNode<'_>) -> Result<(), Ending> {
        let mut line = serde_json::to_vec(frame)
            .map_err(|error| Ending::Failed(NodeHostError::Ended(error.to_string())))?;
        line.push(b'\n');
        self.input
            .write_all(&line)
            .await
            .map_err(|_closed| Ending::Closed)
    }

    async fn invoke(&mut self, command: Command) -> Result<(), Ending> {
        let Command {
            id,
            module,
            export,
            arguments,
            extension,
            reply,
        } = command;
        self.calls.retain(|_, reply| !reply.is_closed());
        self.calls.insert(id, reply);
        self.say(&ToNode::Invoke {
            id,
            module: &module,
            export: &export,
            arguments: &arguments,
            extension: extension.as_deref(),
        })
        .await
    }

    /// Asks for a sign of life where somebody waits; ends a Node that gives none.
    async fn feel_pulse(&mut self) -> Result<(), Ending> {
        self.calls.retain(|_, reply| !reply.is_closed());
        match self.asked {
            Some(asked) if asked.elapsed() >= SILENCE => {
                Err(Ending::Failed(NodeHostError::Silent(SILENCE)))
            }
            Some(_) => Ok(()),
            None if self.calls.is_empty() => Ok(()),
            None => {
                self.asked = Some(Instant::now());
                self.say(&ToNode::Ping).await
            }
        }
    }

    /// Acts on a line; returns true when Node is ready.
    async fn hear(&mut self, line: Line) -> Result<bool, Ending> {
        let line = match line {
            Line::Output(line) => line,
            Line::Error(line) => {
                self.print(None, ConsoleLevel::Error, line.clone());
                if self.last_words.len() == LAST_WORDS {
                    self.last_words.pop_front();
                }
                self.last_words.push_back(line);
                return Ok(false);
            }
        };
        let (text, frame) = frame::read(&line);
        if !text.is_empty() {
            self.print(None, ConsoleLevel::Info, text.to_owned());
        }
        // Whatever it says is a sign of life.
        self.asked = None;
        match frame {
            Some(FromNode::Ready) => return Ok(true),
            Some(frame) => self.act(frame).await?,
            None => {}
        }
        Ok(false)
    }

    async fn act(&mut self, frame: FromNode) -> Result<(), Ending> {
        match frame {
            FromNode::Ready | FromNode::Pong => {}
            FromNode::Unfit { version } => {
                return Err(Ending::Failed(NodeHostError::TooOld(version)));
            }
            FromNode::Call(question) => {
                let id = question.id;
                let answer = self.answer(question);
                self.say(&ToNode::answer(id, answer)).await?;
            }
            FromNode::Request(question) => self.begin(question),
            FromNode::Abandon { id } => {
                if let Some(task) = self.underway.remove(&id) {
                    task.abort();
                }
            }
            FromNode::Settled { id, value } => self.settle(id, Ok(value)),
            FromNode::Failed { id, error } => {
                self.settle(id, Err(EngineError::Thrown(error.into())));
            }
            FromNode::Unspeakable { id, message } => {
                self.settle(id, Err(EngineError::Value(message)));
            }
            FromNode::Print {
                level,
                text,
                extension,
            } => self.print(extension, frame::level(&level), text),
            FromNode::Fault {
                fault,
                message,
                stack,
                extension,
            } => self.options.host.0.fault(Fault {
                extension,
                kind: frame::fault_kind(&fault),
                message,
                stack,
            }),
        }
        Ok(())
    }

    fn answer(&mut self, question: Question) -> Result<Value, HostError> {
        let Question {
            area,
            method,
            arguments,
            extension,
            ..
        } = question;
        match area {
            Area::Host => self
                .options
                .host
                .0
                .call(extension.as_deref(), &method, arguments),
            Area::Modules => self.modules.answer(&method, arguments),
            Area::Terminal => self.terminal.answer(&method, arguments),
        }
    }

    fn begin(&mut self, question: Question) {
        let Question {
            id,
            method,
            arguments,
            extension,
            ..
        } = question;
        let host = &self.options.host.0;
        let work = host.request(extension.as_deref(), &method, arguments);
        let task = self.requests.spawn(async move { (id, work.await) });
        self.underway.insert(id, task);
    }

    fn settle(&mut self, id: u64, result: CallResult) {
        if let Some(reply) = self.calls.remove(&id) {
            // The caller may have given up; then nobody wants the result.
            drop(reply.send(result));
        }
    }

    fn print(&self, extension: Option<String>, level: ConsoleLevel, text: String) {
        self.options.host.0.console(ConsoleLine {
            extension,
            level,
            text,
        });
    }

    /// Sees Node off. Where it was still needed, everybody who waits is told why it is gone.
    async fn end(
        self,
        mut child: Child,
        ending: Ending,
        failure: &OnceLock<NodeHostError>,
    ) -> Result<(), NodeHostError> {
        // The script ends when it hears no more.
        drop(self.input);
        let status = match ending {
            Ending::Failed(_) => None,
            Ending::NotNeeded | Ending::Closed => {
                let waited = tokio::time::timeout(FAREWELL, child.wait()).await;
                waited.ok().and_then(Result::ok)
            }
        };
        if status.is_none()
            && let Err(error) = child.kill().await
        {
            tracing::debug!(%error, "Node could not be ended");
        }
        let error = match ending {
            Ending::NotNeeded => return Ok(()),
            Ending::Failed(error) => error,
            Ending::Closed => NodeHostError::Ended(cause(status, &self.last_words)),
        };
        if matches!(error, NodeHostError::Ended(_) | NodeHostError::Silent(_)) {
            self.options.host.0.fault(Fault {
                extension: None,
                kind: FaultKind::HostEnded,
                message: error.to_string(),
                stack: None,
            });
        }
        drop(failure.set(error.clone()));
        for (_, reply) in self.calls {
            drop(reply.send(Err(EngineError::Node(error.clone()))));
        }
        Err(error)
    }
}

fn spawn(options: &EngineOptions) -> Result<Child, NodeHostError> {
    let script = |name| modules::source(name).unwrap_or_default();
    let mut command = tokio::process::Command::new("node");
    command
        .args(["--input-type=module", "--eval", script("pi:main")])
        .arg(script("pi:reader"))
        .env_clear()
        .envs(
            options
                .process
                .environment
                .iter()
                .map(|(name, value)| (name, value)),
        )
        .current_dir(&options.process.working_directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    // What is typed at the terminal is for us alone.
    #[cfg(unix)]
    command.process_group(0);
    command.spawn().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => NodeHostError::NotFound,
        _ => NodeHostError::Start(error.to_string()),
    })
}

/// Hands on the lines of a stream, until it ends or says something without end.
async fn pass_on(
    stream: impl AsyncRead + Unpin,
    lines: mpsc::Sender<Line>,
    kind: fn(String) -> Line,
) {
    let mut reader = BufReader::new(stream);
    loop {
        let mut line = Vec::new();
        let read = (&mut reader)
            .take(LONGEST_LINE)
            .read_until(b'\n', &mut line)
            .await;
        if line.last() == Some(&b'\n') {
            line.pop();
        } else if !matches!(read, Ok(1..)) || line.len() as u64 == LONGEST_LINE {
            return;
        }
        let text = String::from_utf8_lossy(&line).into_owned();
        if lines.send(kind(text)).await.is_err() {
            return;
        }
    }
}

/// Says in a line why Node has ended.
fn cause(status: Option<ExitStatus>, last_words: &VecDeque<String>) -> String {
    let status = status.map_or_else(|| "it closed its streams".to_owned(), |it| it.to_string());
    let told = last_words.iter().rev().find(|line| line.contains("rror"));
    match told {
        Some(line) => format!("{status}: {}", line.trim()),
        None => status,
    }
}
