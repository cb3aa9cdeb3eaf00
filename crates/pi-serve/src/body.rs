//! Bodies of requests and responses.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderValue, Response, StatusCode, header};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use serde::Serialize;
use serde_json::Value;
use tokio::sync::mpsc;

use crate::problem::Problem;

/// Maximum length of a body: a prompt with several large images.
pub(crate) const MAX_BODY_BYTES: usize = 32 << 20;

/// Maximum length of the body of a request to a route that expects none, such as `{}`.
const MAX_SKIPPED_BYTES: usize = 64 << 10;

/// Time between two parts of a body. A client that is slower is disconnected.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

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
    let frame = frame.map_err(|_elapsed| {
        Problem::new(StatusCode::REQUEST_TIMEOUT, "the body was sent too slowly")
    })?;
    frame
        .transpose()
        .map_err(|error| Problem::new(StatusCode::BAD_REQUEST, error))
}

/// Reads what was sent to a route that expects nothing. The connection would otherwise close before a slow client has sent
/// it, and the client would lose the reply.
pub(crate) async fn skip_body(body: &mut Incoming) -> Result<(), Problem> {
    let mut skipped = 0;
    while let Some(frame) = next_frame(body).await? {
        skipped += frame.data_ref().map_or(0, Bytes::len);
        if skipped > MAX_SKIPPED_BYTES {
            let problem = "the route expects no body";
            return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, problem));
        }
    }
    Ok(())
}

/// Reads the body of a request.
pub(crate) async fn read_body(body: Incoming) -> Result<Bytes, Problem> {
    let too_large = || {
        Problem::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "the body is larger than 32 MB",
        )
    };
    let maximum = u64::try_from(MAX_BODY_BYTES).unwrap_or(u64::MAX);
    if body.size_hint().lower() > maximum {
        return Err(too_large());
    }
    let mut body = body;
    let mut bytes = BytesMut::new();
    loop {
        let Some(frame) = next_frame(&mut body).await? else {
            return Ok(bytes.freeze());
        };
        if let Ok(data) = frame.into_data() {
            if bytes.len() + data.len() > MAX_BODY_BYTES {
                return Err(too_large());
            }
            bytes.extend_from_slice(&data);
        }
    }
}

/// Reads the body of a request as a JSON object; an empty body is an empty object.
pub(crate) async fn read_object(body: Incoming) -> Result<Value, Problem> {
    let bytes = read_body(body).await?;
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
