//! What `pi fleet check` asks a server.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use super::server::server_error;
use super::{EngineError, NatsEngine};

/// How long a question about the server may take: users without the right to ask get no answer.
const TIMEOUT: Duration = Duration::from_secs(2);

/// When a server writes acknowledged messages to its disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DiskSync {
    /// Before it acknowledges them.
    Always,
    /// Later. So many servers have each message.
    Sometimes {
        replicas: usize,
    },
    Unknown,
}

impl NatsEngine {
    /// Returns the seconds by which the clock of the server is ahead.
    pub(crate) async fn clock_skew(&self) -> Result<f64, EngineError> {
        let before = now();
        let info = self.stream_info().await?;
        let after = now();
        let time = info.get("ts").and_then(Value::as_str);
        let time = time.and_then(pi_protocol::timestamp::parse_iso);
        let time = time.ok_or_else(|| EngineError::Server {
            action: "read the clock",
            reason: "the server reports no time".to_owned(),
        })?;
        #[expect(clippy::cast_precision_loss, reason = "exact for centuries")]
        let time = time as f64 / 1000.0;
        // The response was written between both.
        Ok((time - after).max(0.0) + (time - before).min(0.0))
    }

    /// Returns when the server writes messages to its disk.
    pub(crate) async fn disk_sync(&self) -> DiskSync {
        let replicas = match self.stream_info().await {
            Ok(info) => info.pointer("/config/num_replicas").and_then(Value::as_u64),
            Err(_error) => None,
        };
        let asking = self.ask(
            "$SYS.REQ.SERVER.PING.JSZ".to_owned(),
            json!({"config": true}),
        );
        let Ok(Ok(response)) = tokio::time::timeout(TIMEOUT, asking).await else {
            return DiskSync::Unknown;
        };
        let replicas = replicas.and_then(|count| usize::try_from(count).ok());
        match response.pointer("/data/config/sync_always") {
            Some(Value::Bool(true)) => DiskSync::Always,
            // Without the field, the server has the default, which is every two minutes.
            _ if response.pointer("/data/config").is_some() => DiskSync::Sometimes {
                replicas: replicas.unwrap_or(1),
            },
            _ => DiskSync::Unknown,
        }
    }

    async fn stream_info(&self) -> Result<Value, EngineError> {
        let stream = self.server().names.runs_stream();
        self.ask(format!("$JS.API.STREAM.INFO.{stream}"), Value::Null)
            .await
    }

    async fn ask(&self, subject: String, question: Value) -> Result<Value, EngineError> {
        const ACTION: &str = "ask the server";
        let payload = match question {
            Value::Null => String::new(),
            question => question.to_string(),
        };
        let client = &self.server().client;
        let response = client.request(subject, payload.into()).await;
        let response = response.map_err(|error| server_error(ACTION, &error))?;
        serde_json::from_slice(&response.payload).map_err(|error| server_error(ACTION, &error))
    }
}

fn now() -> f64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.unwrap_or_default().as_secs_f64()
}
