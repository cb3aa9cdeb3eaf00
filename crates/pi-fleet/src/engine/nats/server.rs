//! The connection to a server, and requests that the engine makes.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_nats::jetstream::message::{PublishMessage, StreamMessage};
use async_nats::jetstream::publish::PublishAck;
use async_nats::jetstream::{self, Context, consumer, stream};
use async_nats::{Client, Event, ServerError, StatusCode};
use futures_util::StreamExt as _;
use serde::de::DeserializeOwned;

use super::names::{CLASSES, LOG_STREAMS, Names};
use super::{NatsOptions, RunAddress};
use crate::engine::EngineError;

/// The oldest server that fences in a cluster (nats-server#4320).
const MINIMUM_VERSION: (u64, u64) = (2, 12);

/// Number of messages that one request reads.
const READ_BATCH: u32 = 256;

/// How long a request waits for a response.
pub(super) const TIMEOUT: Duration = Duration::from_secs(5);

pub(super) type QueueConsumer = consumer::Consumer<consumer::pull::Config>;

/// A connection, and the streams of one fleet.
pub(super) struct Server {
    pub(super) client: Client,
    pub(super) context: Context,
    pub(super) names: Names,
    pub(super) consumers: Vec<QueueConsumer>,
    /// The first request that the server refused. It does not respond to such a request.
    denied: Denial,
}

type Denial = Arc<OnceLock<String>>;

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
        let denied = Denial::default();
        let noticed = Arc::clone(&denied);
        let connecting = async_nats::ConnectOptions::new()
            .name("pi-fleet")
            .event_callback(move |event| {
                if let Event::ServerError(ServerError::Other(reason)) = event
                    && reason
                        .to_ascii_lowercase()
                        .contains("permissions violation")
                {
                    noticed.set(reason).ok();
                }
                std::future::ready(())
            })
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
        let client = connecting
            .connect(&options.url)
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
            denied,
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
                ..config(names.costs_stream(), vec![names.all("cost")])
            },
        ];
        let shards = 0..LOG_STREAMS;
        streams
            .extend(shards.map(|shard| config(names.log_stream(shard), vec![names.logs(shard)])));
        for config in streams {
            self.open_stream(config).await?;
        }
        for class in CLASSES {
            let consumer = self.open_consumer(class, options.lease).await?;
            self.consumers.push(consumer);
        }
        Ok(())
    }

    async fn open_stream(&self, config: stream::Config) -> Result<(), EngineError> {
        // A worker may not create streams: look first.
        if self.context.get_stream(&config.name).await.is_ok() {
            return Ok(());
        }
        let created = self.context.get_or_create_stream(config).await;
        created.map_err(|error| server_error("create a stream", &error))?;
        Ok(())
    }

    async fn open_consumer(
        &self,
        class: &str,
        lease: Duration,
    ) -> Result<QueueConsumer, EngineError> {
        let stream = self.names.runs_stream();
        let found = self.context.get_consumer_from_stream(class, &stream).await;
        if let Ok(consumer) = found {
            return Ok(consumer);
        }
        let config = consumer::pull::Config {
            durable_name: Some(class.to_owned()),
            filter_subject: self.names.queued(class),
            ack_wait: lease,
            max_ack_pending: -1,
            ..consumer::pull::Config::default()
        };
        let created = self.context.create_consumer_on_stream(config, stream).await;
        created.map_err(|error| server_error("create a consumer", &error))
    }

    /// Reports whether the server has refused a request.
    pub(super) fn check_denied(&self) -> Result<(), EngineError> {
        match self.denied.get() {
            Some(reason) => Err(EngineError::Denied(reason.clone())),
            None => Ok(()),
        }
    }

    /// Reads all messages of a stream with this subject, which may have wildcards.
    pub(super) async fn read_all(
        &self,
        stream: &str,
        subject: &str,
    ) -> Result<Vec<Stored>, EngineError> {
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
        match stream.get_last_raw_message_by_subject(subject).await {
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
        let failed = |error: &dyn std::error::Error| server_error("store a message", error);
        let sent = self.context.send_publish(subject, message).await;
        sent.map_err(|error| failed(&error))?
            .await
            .map_err(|error| failed(&error))
    }

    /// Adds to a counter, and returns its value.
    pub(super) async fn count(&self, subject: String, amount: u64) -> Result<u64, EngineError> {
        let message = PublishMessage::build().header("Nats-Incr", format!("+{amount}"));
        let counted = self.send(subject, message).await?;
        let value = counted.value.and_then(|value| value.parse().ok());
        value.ok_or_else(|| EngineError::Server {
            action: "count",
            reason: "the server has returned no value".to_owned(),
        })
    }

    /// Returns the name of the worker that owns a run; `None` if none answers.
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
