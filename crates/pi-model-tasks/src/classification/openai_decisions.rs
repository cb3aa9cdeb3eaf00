//! OpenAI's Decisions API.

use pi_protocol::ProviderError;
use pi_protocol::json::JsonObject;
use serde_json::{Value, json};

use super::{ClassificationContext, ClassifierAnswer, Question, number, unexpected};
use crate::catalog::TaskModel;

pub(super) const API: &str = "openai-decisions";
/// A gateway that timed out would time out again.
pub(super) const NO_RETRY: [u16; 1] = [504];

const NAME: &str = "the OpenAI Decisions API";
const MAX_IMAGES: usize = 128;

pub(super) fn request_body(
    model: &TaskModel,
    context: &ClassificationContext,
) -> Result<Value, ProviderError> {
    let questions = context.questions.iter();
    let questions: Vec<Value> = questions
        .map(|(name, question)| wire_question(name, question))
        .collect();
    Ok(json!({"model": model.id, "input": input(context)?, "questions": questions}))
}

fn input(context: &ClassificationContext) -> Result<Value, ProviderError> {
    let state = context.state.to_string();
    let images = &context.images;
    if images.is_empty() {
        return Ok(state.into());
    }
    if images.len() > MAX_IMAGES {
        let count = images.len();
        let message = format!("{NAME} accepts at most {MAX_IMAGES} images, not {count}");
        return Err(ProviderError::invalid(message));
    }
    let images = images.iter().map(|image| {
        let url = format!("data:{};base64,{}", image.mime_type, image.data);
        json!({"type": "input_image", "image_url": url})
    });
    let text = json!({"type": "input_text", "text": state});
    let parts: Vec<Value> = [text].into_iter().chain(images).collect();
    Ok(json!([{"role": "user", "content": parts}]))
}

fn wire_question(name: &str, question: &Question) -> Value {
    match question {
        Question::Choice {
            instructions,
            criteria,
        } => {
            let choices = criteria.iter().map(|(value, description)| {
                match description.as_str().filter(|text| !text.is_empty()) {
                    Some(description) => json!({"value": value, "description": description}),
                    None => json!({"value": value}),
                }
            });
            let choices: Vec<Value> = choices.collect();
            json!({"type": "choice", "name": name, "instructions": instructions, "choices": choices})
        }
        Question::Score {
            instructions,
            criteria,
        } => {
            let levels: Vec<Value> = criteria
                .iter()
                .map(|label| json!({"label": label}))
                .collect();
            json!({"type": "score", "name": name, "instructions": instructions, "levels": levels})
        }
        Question::Bool {
            instructions,
            criteria,
        } => {
            let meanings = [("True", &criteria.yes), ("False", &criteria.no)];
            let meanings = meanings.into_iter().filter_map(|(answer, meaning)| {
                let meaning = meaning.as_deref().filter(|text| !text.is_empty())?;
                Some(format!("{answer} means: {meaning}"))
            });
            let meanings: Vec<String> = meanings.collect();
            let instructions = if meanings.is_empty() {
                instructions.clone()
            } else {
                format!("{instructions}\n\n{}", meanings.join("\n"))
            };
            json!({"type": "predicate", "name": name, "instructions": instructions})
        }
    }
}

pub(super) fn answers(
    response: &Value,
    context: &ClassificationContext,
) -> Result<Vec<(String, ClassifierAnswer)>, ProviderError> {
    let listed = response["answers"].as_array();
    let listed = listed.ok_or_else(|| unexpected(NAME, "it has no answers"))?;
    let read = |(name, question): &(String, Question)| {
        let mut newest = listed.iter().rev();
        let answer = newest.find(|answer| answer["name"] == name.as_str());
        let answer = answer.ok_or_else(|| unexpected(NAME, &format!("no answer to {name}")))?;
        Ok((name.clone(), read_answer(name, question, answer)?))
    };
    context.questions.iter().map(read).collect()
}

fn read_answer(
    name: &str,
    question: &Question,
    answer: &Value,
) -> Result<ClassifierAnswer, ProviderError> {
    let number = |value: &Value, what: &str| number(value, NAME, &format!("{what} of {name}"));
    let kind = answer["type"].as_str().unwrap_or_default();
    match (question, kind) {
        (_, "refusal") => Err(ProviderError::invalid(format!(
            "{NAME} refused to answer {name}"
        ))),
        (Question::Choice { .. }, "choice") => {
            let choice = answer["choice"].as_str();
            let choice =
                choice.ok_or_else(|| unexpected(NAME, &format!("{name} has no choice")))?;
            let listed = answer["probabilities"].as_array();
            let listed =
                listed.ok_or_else(|| unexpected(NAME, &format!("{name} has no probabilities")))?;
            let mut probabilities = JsonObject::new();
            for entry in listed {
                let value = entry["value"].as_str().unwrap_or_default();
                let probability = number(&entry["probability"], "probability")?;
                probabilities.insert(value.to_owned(), probability.into());
            }
            Ok(ClassifierAnswer::Choice {
                choice: choice.to_owned(),
                probabilities,
                confidence: number(&answer["confidence"], "confidence")?,
            })
        }
        (Question::Score { .. }, "score") => Ok(ClassifierAnswer::Score {
            score: number(&answer["score"], "score")?,
            confidence: number(&answer["confidence"], "confidence")?,
        }),
        (Question::Bool { .. }, "predicate") => Ok(ClassifierAnswer::Bool {
            probability: number(&answer["probability"], "probability")?,
        }),
        _ => Err(unexpected(NAME, &format!("{name} has no fitting answer"))),
    }
}
