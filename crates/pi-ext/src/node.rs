//! Native half of Node's modules: operations by name, with JSON arguments.
//!
//! The JavaScript half (`js/node`) implements Node's API on top of them. Operations that may block
//! have one implementation, which runs either synchronously or on the blocking pool.

mod child_process;
mod compression;
mod crypto;
mod file_watch;
mod files;
mod http;
mod native_error;
mod network;
mod os;
mod resources;
mod tls;
mod url;
mod websocket;
mod worker;

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

pub(crate) use native_error::NativeError;
pub(crate) use resources::RealmResources;
pub(crate) use worker::WorkerPort;

use crate::engine::{NativeReply, ProcessInfo, Realm};

/// An operation requested by JavaScript.
#[derive(Debug)]
pub(crate) struct NativeRequest {
    pub(crate) operation: String,
    pub(crate) arguments: Value,
    pub(crate) bytes: Option<Vec<u8>>,
}

impl NativeRequest {
    /// Deserializes the arguments.
    fn read<T: DeserializeOwned>(&self) -> Result<T, NativeError> {
        T::deserialize(&self.arguments).map_err(|error| {
            NativeError::new(format!("{}: {error}", self.operation))
                .with_code("ERR_INVALID_ARG_TYPE")
        })
    }

    /// Returns a resource ID from the arguments, or 0, which is never a valid ID.
    fn number(&self, name: &str) -> u32 {
        let number = self.arguments.get(name).and_then(Value::as_u64);
        number
            .and_then(|number| u32::try_from(number).ok())
            .unwrap_or_default()
    }

    fn unknown(&self, module: &str) -> NativeError {
        NativeError::new(format!(
            "unknown native operation {module}.{}",
            self.operation
        ))
    }
}

type NativeFuture = Pin<Box<dyn Future<Output = Result<NativeReply, NativeError>>>>;

/// Runs an operation synchronously.
pub(crate) fn call(
    realm: &Rc<Realm>,
    module: &str,
    request: &NativeRequest,
) -> Result<NativeReply, NativeError> {
    match module {
        "fs" => files::run(&realm.resources.files, request),
        "child" => child_process::call(realm, request),
        "crypto" => crypto::run(request),
        "zlib" => compression::run(request),
        "url" => url::run(request),
        "os" => os::run(&realm.options.process, request),
        "worker" => worker::call(realm, request),
        _ => Err(request.unknown(module)),
    }
}

/// Starts an asynchronous operation.
pub(crate) fn start(realm: &Rc<Realm>, module: &str, request: NativeRequest) -> NativeFuture {
    match module {
        "fs" => {
            let files = Arc::clone(&realm.resources.files);
            on_blocking_pool(move || files::run(&files, &request))
        }
        "crypto" => on_blocking_pool(move || crypto::run(&request)),
        "zlib" => on_blocking_pool(move || compression::run(&request)),
        "child" => child_process::start(realm, request),
        "http" => http::start(realm, request),
        "net" => network::start(realm, request),
        "websocket" => websocket::start(realm, request),
        "watch" => file_watch::start(realm, request),
        "worker" => worker::start(realm, request),
        "host" => {
            let owner = realm.owner();
            let host = &realm.options.host.0;
            let response = host.request(owner.path(), &request.operation, request.arguments);
            Box::pin(async move { Ok(NativeReply::Json(response.await?)) })
        }
        _ => {
            let error = request.unknown(module);
            Box::pin(async move { Err(error) })
        }
    }
}

fn on_blocking_pool(
    work: impl FnOnce() -> Result<NativeReply, NativeError> + Send + 'static,
) -> NativeFuture {
    Box::pin(async move {
        match tokio::task::spawn_blocking(work).await {
            Ok(result) => result,
            Err(error) => Err(NativeError::new(error.to_string())),
        }
    })
}

/// Returns the data for the `process` object.
pub(crate) fn process_info(info: &ProcessInfo) -> Value {
    let environment: serde_json::Map<String, Value> = info
        .environment
        .iter()
        .map(|(name, value)| (name.clone(), Value::String(value.clone())))
        .collect();
    json!({
        "cwd": info.working_directory.to_string_lossy(),
        "env": environment,
        "argv": info.arguments,
        "execPath": info.executable.to_string_lossy(),
        "pid": std::process::id(),
        "platform": os::platform(),
        "arch": os::architecture(),
        "version": env!("CARGO_PKG_VERSION"),
        "ids": os::user_ids(),
    })
}
