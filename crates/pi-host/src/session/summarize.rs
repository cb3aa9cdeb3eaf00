//! Requests summaries from a model, with retries.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_context::{
    ChunkedSummary, CompactionPlan, Summarizer, Summary, SummaryError, SummaryRequest,
};
use pi_http::HeaderOverrides;
use pi_protocol::retry::is_retryable;
use pi_protocol::{AssistantMessage, Model, SessionEvent, StopReason, SummarySource};
use pi_providers::RequestHooks;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{AgentSession, preferences};

/// Exposes only the headers of a request to hooks; the payload of a summary request is internal.
struct HeadersOnly(Arc<dyn RequestHooks>);

impl RequestHooks for HeadersOnly {
    fn on_headers<'a>(
        &'a self,
        headers: HeaderOverrides,
        model: &'a Model,
    ) -> BoxFuture<'a, HeaderOverrides> {
        self.0.on_headers(headers, model)
    }
}

/// Requests for summaries.
#[derive(Clone, Copy)]
pub(super) struct SummaryRequests<'session> {
    session: &'session AgentSession,
}

impl AgentSession {
    pub(super) fn summary_requests(&self) -> SummaryRequests<'_> {
        SummaryRequests { session: self }
    }
}

impl SummaryRequests<'_> {
    /// Requests summaries, one after the other.
    pub(super) async fn summarize(
        self,
        model: &Arc<Model>,
        requests: &[SummaryRequest],
        source: SummarySource,
        cancel: &CancellationToken,
    ) -> Result<Vec<Summary>, SummaryError> {
        let mut summaries = Vec::new();
        for request in requests {
            let summary = self.summarize_one(model, request, source, cancel).await;
            summaries.push(summary?);
        }
        Ok(summaries)
    }

    /// Requests one summary.
    async fn summarize_one(
        self,
        model: &Arc<Model>,
        request: &SummaryRequest,
        source: SummarySource,
        cancel: &CancellationToken,
    ) -> Result<Summary, SummaryError> {
        let response = self.request_summary(model, request, source, cancel).await;
        if cancel.is_cancelled() {
            return Err(SummaryError::Aborted);
        }
        request.read(&response)
    }

    async fn request_summary(
        self,
        model: &Arc<Model>,
        request: &SummaryRequest,
        source: SummarySource,
        cancel: &CancellationToken,
    ) -> Arc<AssistantMessage> {
        let policy = self.session.0.settings.settings().retry_policy();
        let mut attempt = 0;
        loop {
            let response = self.request_once(model, request, cancel).await;
            let is_over = response.stop_reason != StopReason::Error
                || !is_retryable(&response)
                || !policy.allows(attempt + 1);
            if is_over || cancel.is_cancelled() {
                if attempt > 0 {
                    self.session
                        .0
                        .publish(SessionEvent::SummarizationRetryFinished)
                        .await;
                }
                return response;
            }
            attempt += 1;
            let delay = policy.delay(attempt);
            let error_message = response.error_message.clone();
            self.session
                .0
                .publish(SessionEvent::SummarizationRetryScheduled {
                    attempt,
                    max_attempts: policy.max_retries,
                    delay_ms: u64::try_from(delay.as_millis()).unwrap_or(u64::MAX),
                    error_message: error_message.unwrap_or_else(|| "no reason given".to_owned()),
                })
                .await;
            let pause = tokio::time::sleep(delay);
            if cancel.run_until_cancelled(pause).await.is_none() {
                self.session
                    .0
                    .publish(SessionEvent::SummarizationRetryFinished)
                    .await;
                return response;
            }
            self.session
                .0
                .publish(SessionEvent::SummarizationRetryAttemptStart { source })
                .await;
        }
    }

    async fn request_once(
        self,
        model: &Arc<Model>,
        request: &SummaryRequest,
        cancel: &CancellationToken,
    ) -> Arc<AssistantMessage> {
        let base = preferences::stream_options(&self.session.0.settings.settings());
        let options = pi_providers::StreamOptions {
            cancel: cancel.child_token(),
            // A separate ID keeps the request out of the session's routing and prompt cache.
            session_id: Some(Uuid::now_v7().to_string()),
            hooks: self
                .session
                .0
                .participants
                .request_hooks()
                .map(|hooks| Arc::new(HeadersOnly(hooks)) as _),
            ..base.for_summary(request.cache_retention, request.reasoning)
        };
        let messages = request.messages.clone();
        self.session
            .0
            .models
            .stream(model, messages, options)
            .result()
            .await
    }
}

/// Writes the summaries of a compaction: each with one request if that fits, otherwise part by part. If not even small
/// parts fit, the rest without a model.
pub(super) struct PlanSummarizer<'a> {
    pub(super) session: &'a AgentSession,
    pub(super) plan: &'a CompactionPlan,
    pub(super) model: &'a Arc<Model>,
    pub(super) summarizer: Summarizer<'a>,
    pub(super) focus: Option<&'a str>,
    pub(super) source: SummarySource,
    pub(super) cancel: &'a CancellationToken,
}

impl PlanSummarizer<'_> {
    pub(super) async fn summarize(
        &self,
        requests: &[SummaryRequest],
    ) -> Result<Vec<Summary>, SummaryError> {
        let mut summaries = Vec::new();
        for request in requests {
            summaries.push(self.summarize_part(request).await?);
        }
        Ok(summaries)
    }

    async fn summarize_part(&self, request: &SummaryRequest) -> Result<Summary, SummaryError> {
        if request.fits(self.model.context_window) {
            match self.send(request).await {
                Err(error) if error.is_overflow() => {}
                result => return result,
            }
        }
        let mut chunks = ChunkedSummary::new(self.plan, request, self.model.context_window);
        while let Some(next) = chunks.next_request(&self.summarizer, self.focus) {
            match self.send(&next).await {
                Ok(summary) => chunks.accept(summary),
                Err(error) if error.is_overflow() && chunks.shrink() => {}
                Err(error) if error.is_overflow() => break,
                Err(error) => return Err(error),
            }
        }
        if !chunks.is_complete() {
            tracing::warn!("the conversation does not fit into requests for summaries");
        }
        Ok(chunks.finish())
    }

    async fn send(&self, request: &SummaryRequest) -> Result<Summary, SummaryError> {
        let requests = self.session.summary_requests();
        requests
            .summarize_one(self.model, request, self.source, self.cancel)
            .await
    }
}
