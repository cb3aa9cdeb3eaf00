//! Classification: questions about data, and answers with probabilities.

mod llama;
mod openai_decisions;
mod system_one;

use pi_http::HeaderOverrides;
use pi_protocol::json::JsonObject;
use pi_protocol::{ImageContent, ModelKind, ProviderError, StopReason, Usage};
use pi_providers::Models;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::catalog::TaskModel;
use crate::post::{TaskClient, TaskOptions};
use system_one::SystemOne;

/// Data and the questions about it.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct ClassificationContext {
    pub state: Value,
    /// By name, in the order of the caller.
    #[serde(deserialize_with = "named_questions")]
    pub questions: Vec<(String, Question)>,
    #[serde(default)]
    pub images: Vec<ImageContent>,
}

fn named_questions<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<(String, Question)>, D::Error> {
    let questions = JsonObject::deserialize(deserializer)?;
    let questions = questions.into_iter().map(|(name, question)| {
        let question = Question::deserialize(question).map_err(|error| {
            serde::de::Error::custom(format!("question {name} is invalid: {error}"))
        })?;
        Ok((name, question))
    });
    questions.collect()
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Question {
    /// One of several options, each with a description.
    Choice {
        instructions: String,
        criteria: JsonObject,
    },
    /// A level, from the lowest to the highest.
    Score {
        instructions: String,
        criteria: Vec<String>,
    },
    Bool {
        instructions: String,
        criteria: BoolCriteria,
    },
}

/// What both answers mean.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BoolCriteria {
    #[serde(rename = "true", default, skip_serializing_if = "Option::is_none")]
    pub yes: Option<String>,
    #[serde(rename = "false", default, skip_serializing_if = "Option::is_none")]
    pub no: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum ClassifierAnswer {
    Choice {
        choice: String,
        probabilities: JsonObject,
        confidence: f64,
    },
    Score {
        score: f64,
        confidence: f64,
    },
    Bool {
        probability: f64,
    },
}

/// The result of a classification.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Classification {
    pub api: String,
    pub provider: String,
    pub model: String,
    /// By the names of the questions; empty on failure.
    #[serde(serialize_with = "as_object")]
    pub answers: Vec<(String, ClassifierAnswer)>,
    pub stop_reason: StopReason,
    pub timestamp: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
}

fn as_object<S: serde::Serializer>(
    answers: &[(String, ClassifierAnswer)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(answers.iter().map(|(name, answer)| (name, answer)))
}

/// Answers with what they cost.
struct Answers {
    answers: Vec<(String, ClassifierAnswer)>,
    usage: Option<Usage>,
}

/// Answers questions. A failure is part of the result.
pub async fn classify(
    models: &Models,
    model: &TaskModel,
    context: &ClassificationContext,
    options: &TaskOptions,
) -> Classification {
    let asking = ask(models, model, context, options);
    let answered = options.cancel.run_until_cancelled(Box::pin(asking)).await;
    let answered = answered.unwrap_or_else(|| Err(ProviderError::aborted()));
    let (answers, error_message) = match answered {
        Ok(answers) => (answers, None),
        Err(error) => {
            let none = Answers {
                answers: Vec::new(),
                usage: None,
            };
            (none, Some(error.message))
        }
    };
    let stop_reason = match &error_message {
        None => StopReason::Stop,
        Some(_) if options.cancel.is_cancelled() => StopReason::Aborted,
        Some(_) => StopReason::Error,
    };
    Classification {
        api: model.api.clone(),
        provider: model.provider.clone(),
        model: model.id.clone(),
        answers: answers.answers,
        stop_reason,
        timestamp: models.env().now_ms(),
        usage: answers.usage,
        error_message,
    }
}

async fn ask(
    models: &Models,
    model: &TaskModel,
    context: &ClassificationContext,
    options: &TaskOptions,
) -> Result<Answers, ProviderError> {
    let connect = |headers: HeaderOverrides| TaskClient::new(models, model, options, headers);
    if model.kind != ModelKind::Classifier {
        let message = format!("{}/{} is not a classifier", model.provider, model.id);
        return Err(ProviderError::invalid(message));
    }
    match model.api.as_str() {
        llama::API => {
            let client = connect(HeaderOverrides::new()).await?;
            let answers = llama::classify(&client, model, context, options).await?;
            Ok(Answers {
                answers,
                usage: None,
            })
        }
        openai_decisions::API => {
            let body = openai_decisions::request_body(model, context)?;
            let client = connect(HeaderOverrides::new()).await?;
            let client = client.without_retries_for(&openai_decisions::NO_RETRY);
            client.require_key()?;
            let url = format!("{}/decisions", client.base_url());
            let response = client.post(&url, &body).await?;
            openai_decisions::answers(&response, context).map(|answers| Answers {
                answers,
                usage: usage(&response["usage"], model),
            })
        }
        api => {
            let service = SystemOne::of_api(api)
                .ok_or_else(|| ProviderError::invalid(format!("unknown classifier API {api}")))?;
            let (body, headers) = service.request(model, context)?;
            let client = connect(headers).await?;
            client.require_key()?;
            let url = format!("{}/{}", client.base_url(), service.path());
            let response = client.post(&url, &body).await?;
            let output = service.output(&response)?;
            Ok(Answers {
                answers: service.answers(output, context)?,
                usage: usage(&output["usage"], model),
            })
        }
    }
}

/// Reads the tokens of a response; `None` if it has none.
fn usage(value: &Value, model: &TaskModel) -> Option<Usage> {
    let (input, output) = (value.get("input_tokens"), value.get("output_tokens"));
    if input.is_none() && output.is_none() {
        return None;
    }
    let count = |value: Option<&Value>| value.and_then(Value::as_u64).unwrap_or(0);
    let (input, output) = (count(input), count(output));
    let mut usage = Usage {
        input,
        output,
        total_tokens: input.saturating_add(output),
        ..Usage::default()
    };
    usage.apply_cost(&model.cost);
    Some(usage)
}

/// Reads a number that a response must have.
fn number(value: &Value, service: &str, what: &str) -> Result<f64, ProviderError> {
    let number = value.as_f64().filter(|number| number.is_finite());
    number.ok_or_else(|| unexpected(service, &format!("{what} is not a number")))
}

fn unexpected(service: &str, problem: &str) -> ProviderError {
    ProviderError::protocol(format!("unexpected response from {service}: {problem}"))
}

#[cfg(test)]
mod tests;
