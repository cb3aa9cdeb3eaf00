//! The connection to a server, and requests that the engine makes.

use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::message::{PublishMessage, StreamMessage};
use async_nats::jetstream::publish::PublishAck;
use async_nats::jetstream::{self, Context, consumer, stream};
use async_nats::{Client, ServerAddr, StatusCode};
use futures_util::StreamExt as _;
use serde::de::DeserializeOwned;

use super::link::Link;
use super::names::{ANY_LABEL, CLASSES, LOG_STREAMS, Names};
use super::{NatsOptions, RunAddress};
use crate::engine::EngineError;

/// The oldest server that fences in a cluster (nats-server#4320).
const MINIMUM_VERSION: (u64, u64) = (2, 12);

/// Number of messages that one request reads.
const READ_BATCH: u32 = 256;

/// How often a silent connection is tested. After two tests without a response, it is opened again.
const PING_INTERVAL: Duration = Duration::from_secs(5);

/// How long a request waits for a response.
pub(super) const TIMEOUT: Duration = Duration::from_secs(5);

pub(super) type QueueConsumer = consumer::Consumer<consumer::pull::Config>;

/// A connection, and the streams of one fleet.
pub(super) struct Server {
    pub(super) client: Client,
    pub(super) context: Context,
    pub(super) names: Names,
    /// By class, and then by label.
    pub(super) consumers: Vec<QueueConsumer>,
    /// The one on which free slots wait.
    pub(super) waiting: usize,
    link: Arc<Link>,
}

/// The payload of a counter.
#[derive(serde::Deserialize)]
struct CounterValue {
    val: String,
}

/// A message of a stream.
pub(super) struct Stored {
    pub(super) subject: String,
    pub(super) sequence: u64,
    pub(super) payload: Vec<u8>,
}

/// Returns where the responses to a user arrive.
pub(crate) fn inbox_prefix(user: &str) -> String {
    format!("_INBOX_{user}")
}

impl Server {
    /// Connects, and creates the streams of the fleet unless they exist.
    pub(super) async fn connect(options: &NatsOptions) -> Result<Self, EngineError> {
        let names = Names::new(&options.fleet)
            .ok_or_else(|| EngineError::InvalidFleet(options.fleet.clone()))?;
        let link = Arc::new(Link::new());
        let observer = Arc::clone(&link);
        let connecting = async_nats::ConnectOptions::new()
            .name("pi-fleet")
            .event_callback(move |event| {
                observer.observe(event);
                std::future::ready(())
            })
            .ping_interval(PING_INTERVAL)
            .request_timeout(Some(TIMEOUT))
            .connection_timeout(TIMEOUT)
            .max_reconnects(None)
            .reconnect_delay_callback(|attempt| {
                Duration::from_millis(50 * u64::try_from(attempt.clamp(1, 20)).unwrap_or(20))
            });
        let connecting = match &options.credentials {
            // No user reads the responses to another one.
            Some((user, password)) => connecting
                .user_and_password(user.clone(), password.clone())
                .custom_inbox_prefix(inbox_prefix(user)),
            None => connecting,
        };
        let addresses = options.url.split(',').map(str::parse::<ServerAddr>);
        let addresses: Vec<ServerAddr> = addresses
            .collect::<Result<_, _>>()
            .map_err(|error| server_error("connect", &error))?;
        let client = connecting
            .connect(addresses)
            .await
            .map_err(|error| server_error("connect", &error))?;
        check_version(&client.server_info().version)?;
        let mut context = jetstream::new(client.clone());
        context.set_timeout(TIMEOUT);
        let mut server = Self {
            client,
            context,
            names,
            consumers: Vec::new(),
            waiting: 0,
            link,
        };
        server.open_streams(options).await?;
        Ok(server)
    }

    async fn open_streams(&mut self, options: &NatsOptions) -> Result<(), EngineError> {
        let names = &self.names;
        let config = |name: String, subjects: Vec<String>| stream::Config {
            name,
            subjects,
            num_replicas: options.replicas,
            allow_direct: true,
            ..stream::Config::default()
        };
        let mut streams = vec![
            stream::Config {
                retention: stream::RetentionPolicy::WorkQueue,
                max_messages_per_subject: 1,
                discard: stream::DiscardPolicy::New,
                discard_new_per_subject: true,
                ..config(names.runs_stream(), vec![names.all("run")])
            },
            stream::Config {
                max_messages_per_subject: 1,
                ..config(
                    names.state_stream(),
                    vec![names.all("task"), names.all("state"), names.all("batch")],
                )
            },
            config(names.messages_stream(), vec![names.all("msg")]),
            config(names.files_stream(), vec![names.all("file")]),
            stream::Config {
                allow_message_counter: true,
                max_messages_per_subject: 1,
                ..config(names.costs_stream(), vec![names.all("cost")])
            },
            stream::Config {
                max_messages_per_subject: 1,
                ..config(names.limits_stream(), vec![names.all("limit")])
            },
        ];
        let shards = 0..LOG_STREAMS;
        streams
            .extend(shards.map(|shard| config(names.log_stream(shard), vec![names.logs(shard)])));
        for config in streams {
            self.open_stream(config).await?;
        }
        let labels = options.labels.iter().map(String::as_str);
        let labels: Vec<&str> = labels.chain([ANY_LABEL]).collect();
        for class in CLASSES {
            for label in &labels {
                let consumer = self.open_consumer(class, label, options.lease).await?;
                self.consumers.push(consumer);
            }
        }
        // Most runs have the second class and no label.
        self.waiting = 2 * labels.len() - 1;
        Ok(())
    }

    /// Creates the queues of a label unless they exist.
    pub(super) async fn open_label(&self, label: &str, lease: Duration) -> Result<(), EngineError> {
        for class in CLASSES {
            self.open_consumer(class, label, lease).await?;
        }
        Ok(())
    }

    async fn open_stream(&self, config: stream::Config) -> Result<(), EngineError> {
        // A worker may not create streams: look first.
        const ACTION: &str = "create a stream";
        let looking = Box::pin(self.context.get_stream(&config.name));
        if self.guard(ACTION, looking).await?.is_ok() {
            return Ok(());
        }
        let creating = Box::pin(self.context.get_or_create_stream(config));
        let created = self.guard(ACTION, creating).await?;
        created.map_err(|error| server_error(ACTION, &error))?;
        Ok(())
    }

    async fn open_consumer(
        &self,
        class: &str,
        label: &str,
        lease: Duration,
    ) -> Result<QueueConsumer, EngineError> {
        const ACTION: &str = "create a consumer";
        let stream = self.names.runs_stream();
        let name = format!("{class}-{label}");
        let looking = Box::pin(self.context.get_consumer_from_stream(&name, &stream));
        if let Ok(consumer) = self.guard(ACTION, looking).await? {
            return Ok(consumer);
        }
        let config = consumer::pull::Config {
            durable_name: Some(name),
            filter_subject: self.names.queued(class, label),
            ack_wait: lease,
            max_ack_pending: -1,
            ..consumer::pull::Config::default()
        };
        let creating = Box::pin(self.context.create_consumer_on_stream(config, stream));
        let created = self.guard(ACTION, creating).await?;
        created.map_err(|error| server_error(ACTION, &error))
    }

    /// Whether a consumer of this worker has runs, also those that other workers hold.
    pub(super) async fn has_runs(&self) -> Result<bool, EngineError> {
        const ACTION: &str = "read the queue";
        for consumer in &self.consumers {
            let info = self.guard(ACTION, consumer.get_info()).await?;
            let info = info.map_err(|error| server_error(ACTION, &error))?;
            if info.num_pending > 0 || info.num_ack_pending > 0 {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Waits for a request, unless the server refuses it or the connection breaks.
    pub(super) async fn guard<T>(
        &self,
        action: &'static str,
        request: impl Future<Output = T>,
    ) -> Result<T, EngineError> {
        self.link.guard(action, request).await
    }

    /// Waits for a request that the server may refuse; returns `None` then.
    pub(super) async fn try_request<T>(
        &self,
        subject: &str,
        request: impl Future<Output = T>,
    ) -> Option<T> {
        self.link.try_request(subject, request).await
    }

    /// Reads all messages of a stream with this subject, which may have wildcards.
    pub(super) async fn read_all(
        &self,
        stream: &str,
        subject: &str,
    ) -> Result<Vec<Stored>, EngineError> {
        let reading = self.read_batches(stream, subject);
        self.guard("read a stream", reading).await?
    }

    async fn read_batches(&self, stream: &str, subject: &str) -> Result<Vec<Stored>, EngineError> {
        let failed = |reason: String| EngineError::Server {
            action: "read a stream",
            reason,
        };
        let api = format!("$JS.API.DIRECT.GET.{stream}");
        let mut messages = Vec::new();
        let mut next = 1;
        loop {
            let inbox = self.client.new_inbox();
            let mut responses = self
                .client
                .subscribe(inbox.clone())
                .await
                .map_err(|error| failed(error.to_string()))?;
            let request = serde_json::json!({
                "seq": next, "next_by_subj": subject, "batch": READ_BATCH,
            });
            let sent =
                self.client
                    .publish_with_reply(api.clone(), inbox, request.to_string().into());
            sent.await.map_err(|error| failed(error.to_string()))?;
            let pending = loop {
                let response = tokio::time::timeout(TIMEOUT, responses.next()).await;
                let Ok(Some(response)) = response else {
                    return Err(failed("no response".to_owned()));
                };
                let header = |name: &str| {
                    let value = response.headers.as_ref()?.get(name)?;
                    Some(value.as_str().to_owned())
                };
                let number = |name: &str| header(name).and_then(|text| text.parse::<u64>().ok());
                match response.status {
                    None => {}
                    Some(StatusCode::NOT_FOUND) => break 0,
                    // The end of the batch.
                    Some(status) if status.as_u16() == 204 => {
                        break number("Nats-Num-Pending").unwrap_or_default();
                    }
                    Some(status) => {
                        let text = response.description.unwrap_or_default();
                        return Err(failed(format!("{status} {text}")));
                    }
                }
                let (Some(subject), Some(sequence)) =
                    (header("Nats-Subject"), number("Nats-Sequence"))
                else {
                    return Err(failed("a message has no sequence".to_owned()));
                };
                next = sequence + 1;
                messages.push(Stored {
                    subject,
                    sequence,
                    payload: response.payload.to_vec(),
                });
            };
            if pending == 0 {
                return Ok(messages);
            }
        }
    }

    /// Returns the last message with this subject, from the leader of the stream: replicas may lag.
    pub(super) async fn last(
        &self,
        stream: &str,
        subject: &str,
    ) -> Result<Option<StreamMessage>, EngineError> {
        let failed = |error: &dyn std::error::Error| server_error("read a stream", error);
        let stream = self.context.get_stream_no_info(stream).await;
        let stream = stream.map_err(|error| failed(&error))?;
        let reading = stream.get_last_raw_message_by_subject(subject);
        match self.guard("read a stream", reading).await? {
            Ok(message) => Ok(Some(message)),
            Err(error) if error.kind() == stream::LastRawMessageErrorKind::NoMessageFound => {
                Ok(None)
            }
            Err(error) => Err(failed(&error)),
        }
    }

    /// Stores a message, and returns its sequence.
    pub(super) async fn publish(
        &self,
        subject: String,
        message: PublishMessage,
    ) -> Result<u64, EngineError> {
        Ok(self.send(subject, message).await?.sequence)
    }

    async fn send(
        &self,
        subject: String,
        message: PublishMessage,
    ) -> Result<PublishAck, EngineError> {
        const ACTION: &str = "store a message";
        let failed = |error: &dyn std::error::Error| server_error(ACTION, error);
        let sending = async {
            let sent = self.context.send_publish(subject, message).await;
            sent.map_err(|error| failed(&error))?
                .await
                .map_err(|error| failed(&error))
        };
        self.guard(ACTION, sending).await?
    }

    /// Adds to a counter, once for each ID, and returns its value.
    pub(super) async fn count(
        &self,
        subject: String,
        amount: i64,
        id: &str,
    ) -> Result<i64, EngineError> {
        if amount != 0 {
            let message = PublishMessage::build()
                .message_id(id)
                .header("Nats-Incr", format!("{amount:+}"));
            let counted = self.send(subject.clone(), message).await?;
            let value = counted.value.and_then(|value| value.parse().ok());
            if let Some(value) = value.filter(|_| !counted.duplicate) {
                return Ok(value);
            }
        }
        let last = self.last(&self.names.costs_stream(), &subject).await?;
        let last = last.map(|last| parse::<CounterValue>(&subject, &last.payload));
        let value = last.transpose()?.map(|last| last.val.parse::<i64>());
        value.unwrap_or(Ok(0)).map_err(|error| EngineError::Server {
            action: "count",
            reason: error.to_string(),
        })
    }

    /// Asks whether a worker owns a run.
    pub(super) async fn owner(&self, run: &RunAddress) -> OwnerQuery {
        let request = self
            .client
            .request(self.names.owner(run), bytes::Bytes::new());
        match request.await {
            Ok(_response) => OwnerQuery::Owned,
            Err(error) if error.kind() == async_nats::RequestErrorKind::NoResponders => {
                OwnerQuery::NoResponders
            }
            Err(_error) => OwnerQuery::Silent,
        }
    }
}

/// What is known about the owner of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OwnerQuery {
    Owned,
    NoResponders,
    /// Its worker hangs, or the server did not respond.
    Silent,
}

/// Refuses servers that acknowledge several writers of one entry.
fn check_version(version: &str) -> Result<(), EngineError> {
    let mut numbers = version.split('.').map(|number| number.parse::<u64>().ok());
    let found = (numbers.next().flatten(), numbers.next().flatten());
    match found {
        (Some(major), Some(minor)) if (major, minor) >= MINIMUM_VERSION => Ok(()),
        _ => Err(EngineError::OldServer(version.to_owned())),
    }
}

pub(super) fn parse<T: DeserializeOwned>(run: &str, payload: &[u8]) -> Result<T, EngineError> {
    serde_json::from_slice(payload).map_err(|error| EngineError::DamagedLog {
        run: run.to_owned(),
        reason: error.to_string(),
    })
}

pub(super) fn server_error(action: &'static str, error: &dyn std::error::Error) -> EngineError {
    EngineError::Server {
        action,
        reason: error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_servers_are_refused() {
        for version in ["2.12.0", "2.15.1", "2.100.0-beta.1", "3.0.0"] {
            check_version(version).unwrap();
        }
        for version in ["2.9.10", "2.11.99", "1.99.0", "", "x"] {
            let error = check_version(version).unwrap_err();
            assert!(error.to_string().contains("2.12 or newer"), "{error}");
        }
    }
}
