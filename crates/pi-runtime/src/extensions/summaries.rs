//! Summaries requested by extensions, of messages they choose, with the built-in prompts.

use std::sync::Arc;

use pi_context::{
    AbandonedBranch, BranchSummaryPlan, CompactionPlan, CompactionSettings, MessageSelection,
    Summarizer, Summary, SummaryInstructions, SummaryRequest,
};
use pi_ext::{HostError, HostFuture};
use pi_http::HeaderOverrides;
use pi_protocol::{AgentMessage, EntryId, Model, ThinkingLevel};
use pi_providers::{Models, StreamOptions};
use secrecy::SecretString;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::bridge::{ExtensionBridge, host_error, read};
use crate::summary_options::summary_options;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SummaryJob {
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

impl ExtensionBridge {
    /// Writes the summary of a prepared compaction or of a branch.
    pub(super) fn summarize(
        &self,
        method: &str,
        arguments: Value,
    ) -> Result<HostFuture, HostError> {
        let job: SummaryJob = read(arguments)?;
        let work = self.start_job(job.number)?;
        let (models, now) = (self.models.clone(), self.env.now_ms());
        let is_branch = method == "summary.branch";
        Ok(self.spawn_on_runtime(async move {
            if is_branch {
                branch_summary(&models, &job, now, work.cancel()).await
            } else {
                compaction(&models, &job, now, work.cancel()).await
            }
        }))
    }
}

async fn call(
    models: &Models,
    job: &SummaryJob,
    request: &SummaryRequest,
    cancel: CancellationToken,
) -> Result<Summary, HostError> {
    let options = summary_options(request, job.options(cancel));
    let model = Arc::new(job.model.clone());
    let response = models.stream(&model, request.messages.clone(), options);
    request.read(&*response.result().await).map_err(host_error)
}

async fn compaction(
    models: &Models,
    job: &SummaryJob,
    now: i64,
    cancel: CancellationToken,
) -> Result<Value, HostError> {
    let plan = job.plan();
    let focus = job.custom_instructions.as_deref();
    let mut summaries = Vec::new();
    for request in plan.requests(&job.summarizer(now), focus) {
        summaries.push(call(models, job, &request, cancel.clone()).await?);
    }
    let result = plan.finish(&summaries).map_err(host_error)?;
    Ok(json!({
        "summary": result.summary,
        "firstKeptEntryId": result.first_kept_entry_id.map(|id| id.to_string()),
        "tokensBefore": result.tokens_before,
        "details": result.details,
        "usage": result.usage,
        "text": summaries.first().map(|summary| summary.text.clone()),
    }))
}

async fn branch_summary(
    models: &Models,
    job: &SummaryJob,
    now: i64,
    cancel: CancellationToken,
) -> Result<Value, HostError> {
    let branch = AbandonedBranch {
        entries: job.entries.iter().cloned().map(Arc::new).collect(),
        common_ancestor_id: None,
    };
    let reserve = job.reserve_tokens;
    let reserve = reserve.unwrap_or_else(|| CompactionSettings::default().reserve_tokens);
    let Some(plan) = BranchSummaryPlan::new(&branch, &job.model, reserve) else {
        return Ok(json!({ "summary": "No content to summarize" }));
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
    Ok(json!({
        "summary": finished.summary,
        "usage": finished.usage,
        "readFiles": details.get("readFiles"),
        "modifiedFiles": details.get("modifiedFiles"),
    }))
}
