//! Sends spans to an OTLP receiver over HTTP, configured by the standard `OTEL_…` environment variables.

use std::collections::HashMap;
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use opentelemetry::propagation::TextMapPropagator as _;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry::{Array, StringValue, Value};
use opentelemetry_otlp::{Protocol, SpanExporter as OtlpExporter, WithExportConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{SdkTracerProvider, SpanData, SpanExporter};
use pi_env::Env;
use tokio::runtime::Handle;
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use super::TARGET;

/// Environment variables that name the receiver. Without one, nothing is exported.
const ENDPOINT_VARIABLES: [&str; 2] = [
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
];

/// Environment variables that name the protocol; the first one that is set applies.
const PROTOCOL_VARIABLES: [&str; 2] = [
    "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL",
    "OTEL_EXPORTER_OTLP_PROTOCOL",
];

/// Name of this service, unless the environment has another one.
const SERVICE: &str = "pi-fleet";

/// How long the end of the process waits for spans that are not exported yet.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);

const TRACE_PARENT_HEADER: &str = "traceparent";

/// Exports spans until it is stopped.
pub(crate) struct Exporter(Option<SdkTracerProvider>);

impl Exporter {
    /// Starts to export if the environment names a receiver. Runs on the runtime of the caller.
    pub(crate) fn start(env: &Env) -> Result<Self, String> {
        let is = |name: &str, value: &str| {
            let found = env.var(name);
            found.is_some_and(|found| found.eq_ignore_ascii_case(value))
        };
        let has_endpoint = ENDPOINT_VARIABLES
            .iter()
            .any(|name| env.var(name).is_some_and(|value| !value.is_empty()));
        if !has_endpoint || is("OTEL_SDK_DISABLED", "true") || is("OTEL_TRACES_EXPORTER", "none") {
            return Ok(Self(None));
        }
        let exporter = OtlpExporter::builder().with_http();
        let exporter = exporter.with_protocol(protocol(env)?).build();
        let exporter = RuntimeExporter {
            inner: Arc::new(exporter.map_err(|error| error.to_string())?),
            runtime: Handle::current(),
            has_failed: AtomicBool::new(false),
        };
        let mut resource = Resource::builder();
        let attributes = env.var("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default();
        if env.var("OTEL_SERVICE_NAME").is_none() && !attributes.contains("service.name=") {
            resource = resource.with_service_name(SERVICE);
        }
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(exporter)
            .with_resource(resource.build())
            .build();
        let tracer = provider.tracer(SERVICE);
        let layer = tracing_opentelemetry::layer()
            .with_tracer(tracer)
            .with_location(false)
            .with_threads(false)
            .with_tracked_inactivity(false)
            .with_target(false)
            .with_filter(filter_fn(|metadata| metadata.target() == TARGET));
        let subscriber = tracing_subscriber::registry().with(layer);
        subscriber.try_init().map_err(|error| error.to_string())?;
        Ok(Self(Some(provider)))
    }

    /// Exports what has ended, and stops.
    pub(crate) async fn stop(self) {
        let Some(provider) = self.0 else {
            return;
        };
        // It blocks until the spans are sent, which needs this thread.
        let stopping =
            tokio::task::spawn_blocking(move || provider.shutdown_with_timeout(STOP_TIMEOUT));
        // A receiver that is not reachable was reported.
        tokio::time::timeout(STOP_TIMEOUT, stopping).await.ok();
    }
}

/// Returns the protocol that the environment names.
fn protocol(env: &Env) -> Result<Protocol, String> {
    let mut named = PROTOCOL_VARIABLES.iter().filter_map(|name| env.var(name));
    match named.find(|value| !value.is_empty()).as_deref() {
        None | Some("http/protobuf") => Ok(Protocol::HttpBinary),
        Some("http/json") => Ok(Protocol::HttpJson),
        Some(other) => Err(format!(
            "the protocol `{other}` is not supported; use http/protobuf or http/json"
        )),
    }
}

/// Exports on a runtime: the SDK calls exporters on a thread that has none.
#[derive(Debug)]
struct RuntimeExporter {
    inner: Arc<OtlpExporter>,
    runtime: Handle,
    has_failed: AtomicBool,
}

impl SpanExporter for RuntimeExporter {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let inner = Arc::clone(&self.inner);
        let exporting = self.runtime.spawn(async move { inner.export(batch).await });
        let exported = match exporting.await {
            Ok(exported) => exported,
            Err(error) => Err(OTelSdkError::InternalFailure(error.to_string())),
        };
        // Once: the runs go on.
        if let Err(error) = &exported
            && !self.has_failed.swap(true, Ordering::Relaxed)
        {
            let mut stderr = std::io::stderr().lock();
            writeln!(stderr, "warning: cannot export spans: {error}").ok();
        }
        exported
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.inner.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        if let Some(inner) = Arc::get_mut(&mut self.inner) {
            inner.set_resource(resource);
        }
    }
}

/// Makes a span part of the trace of a `traceparent`.
pub(super) fn set_parent(span: &Span, parent: &str) {
    let headers = HashMap::from([(TRACE_PARENT_HEADER.to_owned(), parent.to_owned())]);
    // Without an exporter, spans have no parents.
    span.set_parent(TraceContextPropagator::new().extract(&headers))
        .ok();
}

/// Returns the `traceparent` of a span; `None` if it is not exported.
pub(super) fn trace_parent(span: &Span) -> Option<String> {
    let mut headers = HashMap::new();
    TraceContextPropagator::new().inject_context(&span.context(), &mut headers);
    headers.remove(TRACE_PARENT_HEADER)
}

pub(super) fn set_finish_reasons(span: &Span, reason: &str) {
    let reasons = Array::from(vec![StringValue::from(reason.to_owned())]);
    span.set_attribute("gen_ai.response.finish_reasons", Value::Array(reasons));
}
