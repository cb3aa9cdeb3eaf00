//! Distinguishes a request that waits for its connection from one that waits for its response.
//!
//! The HTTP client connects behind a single `execute`. A layer around its connector reports when
//! name lookup, proxy tunnel and TLS begin and end; a task-local carries the report to the request
//! whose future is being polled, which is the one that requested the connection.

use std::future::Future;
use std::task::{Context, Poll};

use futures_util::future::BoxFuture;
use tokio::sync::watch;
use tower_layer::Layer;
use tower_service::Service;

tokio::task_local! {
    static REPORT: watch::Sender<ConnectState>;
}

/// Connection progress of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ConnectState {
    /// No connection has been requested; the request may reuse a pooled one.
    #[default]
    NotRequested,
    Connecting,
    Connected,
}

/// Runs a request and sends its connection progress to `report`.
pub fn with_connect_reporting<F: Future>(
    report: watch::Sender<ConnectState>,
    request: F,
) -> impl Future<Output = F::Output> {
    REPORT.scope(report, request)
}

/// Wraps the client's connector in a [`ReportingConnector`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReportingLayer;

impl<Connector> Layer<Connector> for ReportingLayer {
    type Service = ReportingConnector<Connector>;

    fn layer(&self, connector: Connector) -> Self::Service {
        ReportingConnector { connector }
    }
}

/// Reports when a connection starts and when it is established or has failed.
#[derive(Debug, Clone)]
pub(crate) struct ReportingConnector<Connector> {
    connector: Connector,
}

impl<Connector, Target> Service<Target> for ReportingConnector<Connector>
where
    Connector: Service<Target>,
    Connector::Future: Send + 'static,
{
    type Response = Connector::Response;
    type Error = Connector::Error;
    type Future = BoxFuture<'static, Result<Self::Response, Self::Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.connector.poll_ready(context)
    }

    fn call(&mut self, target: Target) -> Self::Future {
        let report = REPORT.try_with(watch::Sender::clone).ok();
        let notify = move |link| {
            if let Some(report) = &report {
                report.send_replace(link);
            }
        };
        let connection = self.connector.call(target);
        notify(ConnectState::Connecting);
        Box::pin(async move {
            let outcome = connection.await;
            notify(ConnectState::Connected);
            outcome
        })
    }
}
