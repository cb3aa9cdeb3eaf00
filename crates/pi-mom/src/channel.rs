//! A channel: its log, its ledger, and the queue of requests, of which one runs at a time.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::bot::BotContext;
use crate::channel_dir::ChannelDir;
use crate::chat::{ButtonChoice, HistoryPosition, NewPost, PostId, StoreError};
use crate::command::ChatCommand;
use crate::delivery::{DetailPosts, post_once};
use crate::ledger::{Charge, Ledger, RequestOutcome};
use crate::log::{ChannelLog, EVENT, LogLine};
use crate::questions::Questions;

/// Requests that wait while one runs.
pub(crate) const QUEUE_SIZE: usize = 5;

pub(crate) struct Channel {
    pub(crate) context: Arc<BotContext>,
    directory: ChannelDir,
    name: Mutex<String>,
    log: Mutex<ChannelLog>,
    ledger: Mutex<Ledger>,
    queue: Mutex<RequestQueue>,
    wake: Notify,
    pub(crate) details: DetailPosts,
    pub(crate) questions: Questions,
    /// What the open session was opened with.
    pub(crate) opened_with: Mutex<Option<crate::session::SessionStamp>>,
}

#[derive(Default)]
struct RequestQueue {
    waiting: VecDeque<QueuedRequest>,
    /// Stops the request that runs.
    running: Option<CancellationToken>,
}

struct QueuedRequest {
    line: LogLine,
    /// Whether an earlier process may have begun it.
    is_resumed: bool,
}

impl Channel {
    /// Opens the files of a channel and starts its queue with the requests that have no outcome.
    pub(crate) fn open(context: Arc<BotContext>, directory: ChannelDir) -> io::Result<Arc<Self>> {
        directory.create()?;
        let ledger = Ledger::open(&directory.ledger())?;
        let mut charges = context.charges.lock();
        charges.extend_from_slice(ledger.charges());
        drop(charges);
        let mut open = Vec::new();
        let log = ChannelLog::open(&directory.log(), |line| {
            if line.request && !ledger.is_done(&line.ts) {
                open.push(line);
            }
        })?;
        let service = Arc::clone(&context.service);
        let id = directory.id().to_owned();
        let questions = Questions::new(
            Arc::clone(&service),
            id.clone(),
            context.config.question_time(),
        );
        let channel = Arc::new(Self {
            directory,
            name: Mutex::new(id.clone()),
            log: Mutex::new(log),
            ledger: Mutex::new(ledger),
            queue: Mutex::default(),
            wake: Notify::new(),
            details: DetailPosts::new(service, id),
            questions,
            opened_with: Mutex::default(),
            context,
        });
        for line in open {
            channel.dispatch(line, true);
        }
        let worker = Arc::clone(&channel);
        channel
            .context
            .tasks
            .spawn(async move { worker.work().await });
        Ok(channel)
    }

    pub(crate) fn directory(&self) -> &ChannelDir {
        &self.directory
    }

    pub(crate) fn id(&self) -> &str {
        self.directory.id()
    }

    pub(crate) fn name(&self) -> String {
        self.name.lock().clone()
    }

    pub(crate) fn set_name(&self, name: &str) {
        name.clone_into(&mut self.name.lock());
    }

    pub(crate) fn last_message(&self) -> Option<HistoryPosition> {
        self.log.lock().last().cloned()
    }

    pub(crate) fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock()
    }

    /// Adds lines to the log, and takes up the requests among those that are new.
    pub(crate) fn store(self: &Arc<Self>, lines: Vec<LogLine>) -> Result<(), StoreError> {
        let added = self.log.lock().append(lines).map_err(|source| StoreError {
            path: self.directory.log().display().to_string(),
            source,
        })?;
        for line in added {
            if line.request {
                self.dispatch(line, false);
            }
        }
        Ok(())
    }

    fn dispatch(self: &Arc<Self>, line: LogLine, is_resumed: bool) {
        let is_event = line.user == EVENT;
        if let Some(command) = ChatCommand::parse(&line.text).filter(|_| !is_event) {
            let channel = Arc::clone(self);
            self.context.tasks.spawn(async move {
                let reply = command.execute(&channel).await;
                channel
                    .reply(&line, &reply, RequestOutcome::Answered, is_resumed)
                    .await;
            });
            return;
        }
        let rejected = {
            let mut queue = self.queue.lock();
            // What was accepted before a crash stays accepted. The request that is about to run is not waiting.
            let running = usize::from(queue.running.is_none());
            if is_resumed || queue.waiting.len() < QUEUE_SIZE + running {
                queue.waiting.push_back(QueuedRequest { line, is_resumed });
                None
            } else {
                Some(line)
            }
        };
        let Some(line) = rejected else {
            self.wake.notify_one();
            return;
        };
        let channel = Arc::clone(self);
        self.context.tasks.spawn(async move {
            let text = format!(
                "_The queue is full ({QUEUE_SIZE} requests). Try again later, or send `stop`._"
            );
            channel
                .reply(&line, &text, RequestOutcome::Rejected, false)
                .await;
        });
    }

    async fn work(self: Arc<Self>) {
        loop {
            let next = {
                let mut queue = self.queue.lock();
                let next = queue.waiting.pop_front();
                next.map(|request| {
                    let stop = CancellationToken::new();
                    queue.running = Some(stop.clone());
                    (request, stop)
                })
            };
            let Some((request, stop)) = next else {
                self.wake.notified().await;
                continue;
            };
            // A panic must not end the channel.
            let running = Arc::clone(&self);
            let run = tokio::spawn(async move {
                running.run(&request.line, request.is_resumed, &stop).await;
            });
            if let Err(error) = run.await {
                tracing::error!(%error, channel = self.id(), "a run has failed");
            }
            self.queue.lock().running = None;
        }
    }

    /// Stops the run in progress and drops the requests that wait. Returns whether there was a run.
    pub(crate) fn stop(&self) -> bool {
        let (running, dropped) = {
            let mut queue = self.queue.lock();
            let dropped: Vec<QueuedRequest> = queue.waiting.drain(..).collect();
            (queue.running.clone(), dropped)
        };
        let had_run = running.is_some() || !dropped.is_empty();
        if let Some(running) = running {
            running.cancel();
        }
        for request in dropped {
            self.finish(&request.line, RequestOutcome::Stopped, 0.0);
        }
        had_run
    }

    /// Answers a request without a run.
    async fn reply(&self, line: &LogLine, text: &str, outcome: RequestOutcome, is_resumed: bool) {
        let post = NewPost {
            channel: self.id(),
            thread: None,
            text,
            key: Some(&line.ts),
            buttons: &[],
        };
        let service = &*self.context.service;
        match post_once(service, post, &line.position(), is_resumed).await {
            Ok(post) => {
                self.log_answer(&post, text);
                self.finish(line, outcome, 0.0);
            }
            Err(error) => tracing::warn!(%error, channel = self.id(), "cannot reply"),
        }
    }

    pub(crate) fn log_answer(&self, post: &PostId, text: &str) {
        let line = LogLine::of_bot(&post.0, text, self.context.env.now_ms());
        if let Err(error) = self.log.lock().append(vec![line]) {
            tracing::warn!(%error, channel = self.id(), "an answer is not logged");
        }
    }

    pub(crate) fn finish(&self, line: &LogLine, outcome: RequestOutcome, cost: f64) {
        let charge = Charge {
            cost,
            at: self.context.env.now_ms(),
        };
        self.context.charges.lock().push(charge);
        if let Err(error) = self.ledger().finish(&line.ts, outcome, charge) {
            tracing::error!(%error, channel = self.id(), "cannot record that a request was answered");
        }
    }

    pub(crate) async fn choose(&self, choice: ButtonChoice) {
        self.questions.choose(&choice).await;
    }
}
