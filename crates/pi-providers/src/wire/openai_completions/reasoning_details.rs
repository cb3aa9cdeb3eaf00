//! `reasoning_details`: the structured thinking that OpenRouter and others stream alongside the text.
//!
//! The details are collected while the response streams, stored as JSON in the signature of its
//! thinking block, and replayed unchanged.

use std::borrow::Cow;

use pi_protocol::{AssistantMessage, ThinkingContent, json};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Number, Value};

/// The details of one response.
#[derive(Debug, Default)]
pub(super) struct ReasoningDetails(Vec<ReasoningDetail<'static>>);

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type")]
enum DetailKind<'a> {
    #[serde(rename = "reasoning.summary")]
    Summary {
        #[serde(borrow)]
        summary: Cow<'a, str>,
    },
    #[serde(rename = "reasoning.encrypted")]
    Encrypted {
        #[serde(borrow)]
        data: Cow<'a, str>,
    },
    #[serde(rename = "reasoning.text")]
    Text {
        #[serde(borrow)]
        text: Cow<'a, str>,
        #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
        signature: Option<Cow<'a, str>>,
    },
}

#[derive(Debug, Serialize)]
struct ReasoningDetail<'a> {
    #[serde(flatten)]
    kind: DetailKind<'a>,
    #[serde(flatten)]
    labels: DetailLabels<'a>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct DetailLabels<'a> {
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    id: Option<Cow<'a, str>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    format: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    index: Option<Number>,
}

impl ReasoningDetails {
    /// Adds the details of one delta; those in an unknown format are skipped. Returns whether any
    /// was added.
    pub(super) fn push(&mut self, details: &RawValue) -> bool {
        let Ok(details) = serde_json::from_str::<Vec<&RawValue>>(details.get()) else {
            return false;
        };
        let mut added = false;
        for detail in details {
            if let Some(detail) = ReasoningDetail::parse(detail.get()) {
                self.append(detail);
                added = true;
            }
        }
        added
    }

    /// Text and summaries arrive in fragments that are joined; encrypted details are kept separate.
    fn append(&mut self, detail: ReasoningDetail<'_>) {
        let last = self.0.last_mut();
        match (last, &detail.kind) {
            (
                Some(ReasoningDetail {
                    kind: DetailKind::Text { text, signature },
                    labels,
                }),
                DetailKind::Text {
                    text: delta,
                    signature: delta_signature,
                },
            ) => {
                text.to_mut().push_str(delta);
                if signature.as_deref().is_none_or(str::is_empty) {
                    *signature = delta_signature.clone().map(owned);
                }
                labels.fill(detail.labels);
            }
            (
                Some(ReasoningDetail {
                    kind: DetailKind::Summary { summary },
                    labels,
                }),
                DetailKind::Summary { summary: delta },
            ) => {
                summary.to_mut().push_str(delta);
                labels.fill(detail.labels);
            }
            _ => self.0.push(detail.into_owned()),
        }
    }

    /// Returns the details as the signature of the thinking block, `None` if there were none.
    pub(super) fn signature(&self) -> Option<String> {
        if self.0.is_empty() {
            return None;
        }
        json::to_string(&self.0).ok()
    }
}

impl<'a> ReasoningDetail<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        Some(Self {
            kind: serde_json::from_str(text).ok()?,
            labels: serde_json::from_str(text).ok()?,
        })
    }

    fn into_owned(self) -> ReasoningDetail<'static> {
        let kind = match self.kind {
            DetailKind::Summary { summary } => DetailKind::Summary {
                summary: owned(summary),
            },
            DetailKind::Encrypted { data } => DetailKind::Encrypted { data: owned(data) },
            DetailKind::Text { text, signature } => DetailKind::Text {
                text: owned(text),
                signature: signature.map(owned),
            },
        };
        let mut labels = DetailLabels::default();
        labels.fill(self.labels);
        ReasoningDetail { kind, labels }
    }
}

impl DetailLabels<'static> {
    /// Copies the fields that are still missing.
    fn fill(&mut self, other: DetailLabels<'_>) {
        if self.id.is_none() {
            self.id = other.id.map(owned);
        }
        if self.format.as_deref().is_none_or(str::is_empty) {
            self.format = other.format.map(owned);
        }
        if self.index.is_none() {
            self.index = other.index;
        }
    }
}

fn owned(text: Cow<'_, str>) -> Cow<'static, str> {
    Cow::Owned(text.into_owned())
}

/// Returns the details to replay with a message: those of its first signed thinking block, else the
/// encrypted ones that older sessions stored with each tool call.
pub(super) fn for_message(
    thinking: &[&ThinkingContent],
    message: &AssistantMessage,
) -> Option<Value> {
    let signed = thinking
        .iter()
        .find_map(|block| signed_details(block.thinking_signature.as_deref()?));
    signed.or_else(|| {
        let encrypted: Vec<Value> = message
            .tool_calls()
            .filter_map(|call| encrypted_detail(call.thought_signature.as_deref()?))
            .collect();
        (!encrypted.is_empty()).then_some(Value::Array(encrypted))
    })
}

fn signed_details(signature: &str) -> Option<Value> {
    if !signature.starts_with('[') {
        return None;
    }
    let details: Vec<&RawValue> = serde_json::from_str(signature).ok()?;
    let all_known = details
        .iter()
        .all(|detail| ReasoningDetail::parse(detail.get()).is_some());
    if details.is_empty() || !all_known {
        return None;
    }
    // The stored text is replayed unchanged, including fields unknown to this version.
    serde_json::from_str(signature).ok()
}

fn encrypted_detail(signature: &str) -> Option<Value> {
    let detail = ReasoningDetail::parse(signature)?;
    let is_complete = matches!(&detail.kind, DetailKind::Encrypted { data } if !data.is_empty())
        && detail.labels.id.is_some_and(|id| !id.is_empty());
    is_complete
        .then(|| serde_json::from_str(signature).ok())
        .flatten()
}
