//! Tells a request that waits for its connection from one that waits for its answer.
//!
//! The HTTP client connects behind a single `execute`. A layer around its connector reports when
//! name lookup, proxy tunnel and TLS begin and end; a task-local carries the report to the request
//! whose future is being polled, which is the one that asked for the connection.

use std::future::Future;
use std::task::{Context, Poll};

use futures_util::future::BoxFuture;
use tokio::sync::watch;
use tower_layer::Layer;
use tower_service::Service;

tokio::task_local! {
    static REPORT: watch::Sender<Link>;
}

/// How far the connection of a request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Link {
    /// No connection has been asked for.
    #[default]
    Unasked,
    /// The connection is being made.
    Connecting,
    /// The connection is there.
    Connected,
}

/// Runs a request so that the making of its connection is reported.
pub(crate) fn reporting<F: Future>(
    report: watch::Sender<Link>,
    request: F,
) -> impl Future<Output = F::Output> {
    REPORT.scope(report, request)
}

/// Wraps the client's connector.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReportingLayer;

impl<Connector> Layer<Connector> for ReportingLayer {
    type Service = ReportingConnector<Connector>;

    fn layer(&self, connector: Connector) -> Self::Service {
        ReportingConnector { connector }
    }
}

/// A connector that reports.
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
        let tell = move |link| {
            if let Some(report) = &report {
                report.send_replace(link);
            }
        };
        let connection = self.connector.call(target);
        tell(Link::Connecting);
        Box::pin(async move {
            let outcome = connection.await;
            tell(Link::Connected);
            outcome
        })
    }
}
