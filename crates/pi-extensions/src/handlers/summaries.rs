//! Summaries requested by extensions, of messages they choose, with the built-in prompts.

use std::sync::Arc;

use pi_context::{
    AbandonedBranch, BranchSummaryPlan, CompactionPlan, CompactionSettings, MessageSelection,
    Summarizer, Summary, SummaryInstructions, SummaryRequest,
};
use pi_ext::HostError;
use pi_http::HeaderOverrides;
use pi_protocol::{AgentMessage, EntryId, Model, ThinkingLevel};
use pi_providers::{Models, StreamOptions};
use secrecy::SecretString;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::Caller;
use crate::bridge::host_error;
use crate::calls::{BranchSummaryText, CompactionSummary, Pending};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SummaryJob {
    number: u64,
    model: Model,
    api_key: Option<String>,
    headers: Option<HeaderOverrides>,
    thinking_level: Option<ThinkingLevel>,
    custom_instructions: Option<String>,
    #[serde(default)]
    replace_instructions: bool,
    #[serde(default)]
    messages: Vec<AgentMessage>,
    #[serde(default)]
    turn_prefix: Vec<AgentMessage>,
    #[serde(default)]
    entries: Vec<pi_protocol::Entry>,
    previous_summary: Option<String>,
    first_kept_entry_id: Option<String>,
    #[serde(default)]
    tokens_before: u64,
    reserve_tokens: Option<u64>,
}

impl SummaryJob {
    fn options(&self, cancel: CancellationToken) -> StreamOptions {
        StreamOptions {
            cancel,
            api_key: self.api_key.clone().map(SecretString::from),
            headers: self.headers.clone().unwrap_or_default(),
            ..StreamOptions::default()
        }
    }

    fn summarizer(&self, now_ms: i64) -> Summarizer<'_> {
        Summarizer {
            model: &self.model,
            thinking_level: self.thinking_level.unwrap_or(ThinkingLevel::Off),
            now_ms,
        }
    }

    fn plan(&self) -> CompactionPlan {
        let mut settings = CompactionSettings::default();
        if let Some(reserve) = self.reserve_tokens {
            settings.reserve_tokens = reserve;
        }
        CompactionPlan::from_messages(MessageSelection {
            history: self.messages.clone(),
            turn_prefix: self.turn_prefix.clone(),
            previous_summary: self.previous_summary.clone(),
            first_kept_entry_id: EntryId::from(
                self.first_kept_entry_id.clone().unwrap_or_default(),
            ),
            tokens_before: self.tokens_before,
            settings,
        })
    }
}

impl Caller<'_> {
    /// Writes the summary of a prepared compaction.
    pub(super) fn write_compaction(
        &self,
        job: SummaryJob,
    ) -> Result<Pending<CompactionSummary>, HostError> {
        let running = self.bridge.start_job(job.number)?;
        let (models, now) = (self.bridge.models.clone(), self.bridge.env.now_ms());
        Ok(self.bridge.spawn_on_runtime(async move {
            compaction(&models, &job, now, running.cancel()).await
        }))
    }

    /// Writes the summary of a branch.
    pub(super) fn write_branch_summary(
        &self,
        job: SummaryJob,
    ) -> Result<Pending<BranchSummaryText>, HostError> {
        let running = self.bridge.start_job(job.number)?;
        let (models, now) = (self.bridge.models.clone(), self.bridge.env.now_ms());
        Ok(self.bridge.spawn_on_runtime(async move {
            branch_summary(&models, &job, now, running.cancel()).await
        }))
    }
}

async fn call(
    models: &Models,
    job: &SummaryJob,
    request: &SummaryRequest,
    cancel: CancellationToken,
) -> Result<Summary, HostError> {
    let options = job
        .options(cancel)
        .for_summary(request.cache_retention, request.reasoning);
    let model = Arc::new(job.model.clone());
    let response = models.stream(&model, request.messages.clone(), options);
    request.read(&*response.result().await).map_err(host_error)
}

async fn compaction(
    models: &Models,
    job: &SummaryJob,
    now: i64,
    cancel: CancellationToken,
) -> Result<CompactionSummary, HostError> {
    let plan = job.plan();
    let focus = job.custom_instructions.as_deref();
    let mut summaries = Vec::new();
    for request in plan.requests(&job.summarizer(now), focus) {
        summaries.push(call(models, job, &request, cancel.clone()).await?);
    }
    let result = plan.finish(&summaries).map_err(host_error)?;
    Ok(CompactionSummary {
        summary: result.summary,
        first_kept_entry_id: result.first_kept_entry_id.map(|id| id.to_string()),
        tokens_before: result.tokens_before,
        details: result.details,
        usage: result.usage,
        text: summaries.first().map(|summary| summary.text.clone()),
    })
}

async fn branch_summary(
    models: &Models,
    job: &SummaryJob,
    now: i64,
    cancel: CancellationToken,
) -> Result<BranchSummaryText, HostError> {
    let branch = AbandonedBranch {
        entries: job.entries.iter().cloned().map(Arc::new).collect(),
        common_ancestor_id: None,
    };
    let reserve = job.reserve_tokens;
    let reserve = reserve.unwrap_or_else(|| CompactionSettings::default().reserve_tokens);
    let Some(plan) = BranchSummaryPlan::new(&branch, &job.model, reserve) else {
        return Ok(BranchSummaryText::empty());
    };
    let own = job.custom_instructions.as_deref();
    let instructions = match (own, job.replace_instructions) {
        (Some(own), true) => SummaryInstructions::Replace(own),
        (Some(own), false) => SummaryInstructions::Focus(own),
        (None, _) => SummaryInstructions::Default,
    };
    let request = plan.request(&job.summarizer(now), instructions);
    let summary = call(models, job, &request, cancel).await?;
    let finished = plan.finish(&summary);
    let details = finished.details.unwrap_or_default();
    let files = |name: &str| details.get(name).cloned().unwrap_or_default();
    Ok(BranchSummaryText {
        read_files: Some(files("readFiles")),
        modified_files: Some(files("modifiedFiles")),
        summary: finished.summary,
        usage: finished.usage,
    })
}
