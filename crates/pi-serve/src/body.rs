//! Bodies of requests and responses.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderValue, Request, Response, StatusCode, header};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use serde::Serialize;
use serde_json::Value;
use tokio::sync::mpsc;

use crate::problem::Problem;

/// Maximum length of a body: a prompt with several large images.
pub(crate) const MAX_BODY_BYTES: usize = 32 << 20;

/// Time between two parts of a body. A client that is slower is disconnected.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum length of a body, and the time in which all of it must arrive.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BodyLimit {
    bytes: usize,
    time: Duration,
}

impl BodyLimit {
    /// Requests of known clients.
    pub(crate) const REQUEST: Self = Self {
        bytes: MAX_BODY_BYTES,
        time: Duration::from_mins(5),
    };

    /// A code and a name, from a client that is not known yet.
    pub(crate) const SIGN_IN: Self = Self {
        bytes: 4 << 10,
        time: Duration::from_secs(10),
    };

    /// What is sent to a route that expects nothing, such as `{}`.
    const UNEXPECTED: Self = Self {
        bytes: 64 << 10,
        time: BODY_TIMEOUT,
    };

    /// What is read only to be discarded, also from clients that are not known.
    const DISCARDED: Self = Self {
        bytes: MAX_BODY_BYTES,
        time: Duration::from_secs(10),
    };

    /// Waits for a body to be read.
    async fn read<T>(
        self,
        reading: impl Future<Output = Result<T, Problem>>,
    ) -> Result<T, Problem> {
        match tokio::time::timeout(self.time, reading).await {
            Ok(read) => read,
            Err(_elapsed) => Err(too_slow()),
        }
    }

    fn problem(self) -> Problem {
        let size = match self.bytes >> 20 {
            0 => format!("{} KB", self.bytes >> 10),
            megabytes => format!("{megabytes} MB"),
        };
        let problem = format!("the body is larger than {size}");
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, problem)
    }

    fn is_exceeded_by(self, body: &Incoming) -> bool {
        let maximum = u64::try_from(self.bytes).unwrap_or(u64::MAX);
        body.size_hint().lower() > maximum
    }
}

fn too_slow() -> Problem {
    let problem = "the body was sent too slowly";
    Problem::new(StatusCode::REQUEST_TIMEOUT, problem)
}

pub(crate) type Reply = Response<ReplyBody>;

/// The body of a response.
pub(crate) enum ReplyBody {
    Full(Option<Bytes>),
    /// Parts that arrive over time.
    Stream(mpsc::Receiver<Bytes>),
}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Self::Full(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Stream(parts) => parts
                .poll_recv(context)
                .map(|part| part.map(|part| Ok(Frame::data(part)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Full(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Full(bytes) => {
                let length = bytes.as_ref().map_or(0, Bytes::len);
                SizeHint::with_exact(u64::try_from(length).unwrap_or(u64::MAX))
            }
            Self::Stream(_) => SizeHint::default(),
        }
    }
}

/// Builds a response with a body.
pub(crate) fn reply(status: StatusCode, content_type: &'static str, body: Bytes) -> Reply {
    let mut reply = Response::new(ReplyBody::Full(Some(body)));
    *reply.status_mut() = status;
    let content_type = HeaderValue::from_static(content_type);
    reply
        .headers_mut()
        .insert(header::CONTENT_TYPE, content_type);
    reply
}

/// Builds a response without a body.
pub(crate) fn empty_reply(status: StatusCode) -> Reply {
    let mut reply = Response::new(ReplyBody::Full(None));
    *reply.status_mut() = status;
    reply
}

/// Builds a JSON response from text.
pub(crate) fn json_text(status: StatusCode, json: String) -> Reply {
    reply(status, "application/json", Bytes::from(json))
}

pub(crate) fn json<T: Serialize + ?Sized>(status: StatusCode, value: &T) -> Result<Reply, Problem> {
    let text = pi_protocol::json::to_string(value).map_err(|error| Problem::internal(&error))?;
    Ok(json_text(status, text))
}

async fn next_frame(body: &mut Incoming) -> Result<Option<Frame<Bytes>>, Problem> {
    let next = std::future::poll_fn(|context| Pin::new(&mut *body).poll_frame(context));
    let frame = tokio::time::timeout(BODY_TIMEOUT, next).await;
    let frame = frame.map_err(|_elapsed| too_slow())?;
    frame
        .transpose()
        .map_err(|error| Problem::new(StatusCode::BAD_REQUEST, error))
}

/// Reads a body without storing it.
async fn skip(body: &mut Incoming, limit: BodyLimit) -> Result<(), Problem> {
    let skipping = async {
        let mut skipped = 0;
        while let Some(frame) = next_frame(body).await? {
            skipped += frame.data_ref().map_or(0, Bytes::len);
            if skipped > limit.bytes {
                let problem = "the route expects no body";
                return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, problem));
            }
        }
        Ok(())
    };
    limit.read(skipping).await
}

/// Reads what was sent to a route that expects nothing. The connection would otherwise close before a slow client has sent
/// it, and the client would lose the reply.
pub(crate) async fn skip_body(body: &mut Incoming) -> Result<(), Problem> {
    skip(body, BodyLimit::UNEXPECTED).await
}

/// Reads the rest of a body before an error is replied, for the same reason. Not if it is too large, nor if the client
/// waits for the reply before it sends the body.
pub(crate) async fn discard_body(request: &mut Request<Incoming>) {
    let limit = BodyLimit::DISCARDED;
    let waits_for_reply = request.headers().contains_key(header::EXPECT);
    let body = request.body_mut();
    if waits_for_reply || limit.is_exceeded_by(body) {
        return;
    }
    if let Err(problem) = skip(body, limit).await {
        tracing::debug!(status = problem.status.as_u16(), "the body was not read");
    }
}

/// Reads the body of a request.
pub(crate) async fn read_body(
    mut request: Request<Incoming>,
    limit: BodyLimit,
) -> Result<Bytes, Problem> {
    let read = if limit.is_exceeded_by(request.body()) {
        Err(limit.problem())
    } else {
        limit.read(store(request.body_mut(), limit)).await
    };
    if let Err(problem) = &read
        && problem.status == StatusCode::PAYLOAD_TOO_LARGE
    {
        discard_body(&mut request).await;
    }
    read
}

async fn store(body: &mut Incoming, limit: BodyLimit) -> Result<Bytes, Problem> {
    let mut bytes = BytesMut::new();
    while let Some(frame) = next_frame(body).await? {
        if let Ok(data) = frame.into_data() {
            if bytes.len() + data.len() > limit.bytes {
                return Err(limit.problem());
            }
            bytes.extend_from_slice(&data);
        }
    }
    Ok(bytes.freeze())
}

/// Reads the body of a request as a JSON object; an empty body is an empty object.
pub(crate) async fn read_object(
    request: Request<Incoming>,
    limit: BodyLimit,
) -> Result<Value, Problem> {
    let bytes = read_body(request, limit).await?;
    if bytes.is_empty() {
        return Ok(Value::Object(serde_json::Map::new()));
    }
    let value: Value = serde_json::from_slice(&bytes)
        .map_err(|error| Problem::new(StatusCode::BAD_REQUEST, format!("invalid JSON: {error}")))?;
    if !value.is_object() {
        return Err(Problem::new(
            StatusCode::BAD_REQUEST,
            "the body must be a JSON object",
        ));
    }
    Ok(value)
}

/// Returns an optional text field of an object.
pub(crate) fn text_field(object: &Value, name: &str) -> Result<Option<String>, Problem> {
    match object.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(Problem::new(
            StatusCode::BAD_REQUEST,
            format!("{name} must be a string"),
        )),
    }
}
