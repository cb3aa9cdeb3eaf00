//! The System One API, directly and through Cloudflare Workers AI.

use pi_http::HeaderOverrides;
use pi_protocol::json::JsonObject;
use pi_protocol::{Modality, ProviderError};
use serde_json::{Value, json};

use super::{ClassificationContext, ClassifierAnswer, Question, number, unexpected};
use crate::catalog::TaskModel;

/// Header that services demand for images.
const IMAGE_OPT_IN: &str = "TypeSafe-Danger-Zone-Images";
/// Most images in one request, for services that take a list of them.
const MAX_IMAGES: usize = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SystemOne {
    Direct,
    Cloudflare,
}

/// Where the images of a request are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ImagePlacement {
    Assets,
    List,
    State,
}

impl SystemOne {
    pub(super) fn of_api(api: &str) -> Option<Self> {
        match api {
            "typesafe-system-one" => Some(Self::Direct),
            "cloudflare-workers-ai-system-one" => Some(Self::Cloudflare),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Direct => "the System One API",
            Self::Cloudflare => "Cloudflare Workers AI",
        }
    }

    pub(super) fn path(self) -> &'static str {
        match self {
            Self::Direct => "systemone",
            Self::Cloudflare => "run",
        }
    }

    /// Builds the body and the headers of a request.
    pub(super) fn request(
        self,
        model: &TaskModel,
        context: &ClassificationContext,
    ) -> Result<(Value, HeaderOverrides), ProviderError> {
        let questions = context.questions.iter().map(|(name, question)| {
            let mut question = json!(question);
            if question["type"] == "bool" {
                question["type"] = "noul".into();
            }
            (name.clone(), question)
        });
        let mut request = JsonObject::new();
        request.insert("state".to_owned(), context.state.clone());
        request.insert("questions".to_owned(), Value::Object(questions.collect()));
        let mut headers = HeaderOverrides::new();
        if !context.images.is_empty() {
            self.add_images(model, context, &mut request)?;
            if self.needs_opt_in(model) {
                headers.insert(IMAGE_OPT_IN.to_owned(), Some("true".to_owned()));
            }
        }
        let body = match self {
            Self::Direct => {
                let mut body = JsonObject::new();
                body.insert("model".to_owned(), model.id.clone().into());
                body.extend(request);
                Value::Object(body)
            }
            Self::Cloudflare => json!({"model": model.id, "input": request}),
        };
        Ok((body, headers))
    }

    fn is_openrouter(model: &TaskModel) -> bool {
        model.provider == "openrouter" || model.base_url.contains("openrouter.ai")
    }

    fn needs_opt_in(self, model: &TaskModel) -> bool {
        let configured = model.compat_value("sendImageOptInHeader");
        let configured = configured.and_then(Value::as_bool);
        configured.unwrap_or(self == Self::Direct && !Self::is_openrouter(model))
    }

    fn placement(self, model: &TaskModel) -> ImagePlacement {
        match model.compat_value("imageInput").and_then(Value::as_str) {
            Some("assets") => ImagePlacement::Assets,
            Some("images") => ImagePlacement::List,
            Some("state-image-urls") => ImagePlacement::State,
            _ if self == Self::Cloudflare && model.id.starts_with("@cf/cloudflare/clef") => {
                ImagePlacement::List
            }
            _ if self == Self::Direct && Self::is_openrouter(model) => ImagePlacement::State,
            _ => ImagePlacement::Assets,
        }
    }

    fn add_images(
        self,
        model: &TaskModel,
        context: &ClassificationContext,
        request: &mut JsonObject,
    ) -> Result<(), ProviderError> {
        let reject = |problem: String| {
            let name = format!("{}/{}", model.provider, model.id);
            Err(ProviderError::invalid(format!("{name} {problem}")))
        };
        if !model.input.contains(&Modality::Image) {
            return reject("does not accept images".to_owned());
        }
        let images = &context.images;
        let url = |mime_type: &str, data: &str| format!("data:{mime_type};base64,{data}");
        match self.placement(model) {
            ImagePlacement::List => {
                if images.len() > MAX_IMAGES {
                    let count = images.len();
                    return reject(format!("accepts at most {MAX_IMAGES} images, not {count}"));
                }
                let mut urls = Vec::new();
                for image in images {
                    let mime_type = image.mime_type.as_str();
                    if !matches!(mime_type, "image/png" | "image/jpeg" | "image/webp") {
                        return reject(format!("accepts PNG, JPEG and WebP, not {mime_type}"));
                    }
                    urls.push(Value::from(url(mime_type, &image.data)));
                }
                request.insert("images".to_owned(), urls.into());
            }
            ImagePlacement::State => {
                let parts = images.iter().map(|image| {
                    let url = url(&image.mime_type, &image.data);
                    json!({"type": "image_url", "image_url": {"url": url}})
                });
                let state = parts.chain([context.state.clone()]).collect();
                request.insert("state".to_owned(), Value::Array(state));
            }
            ImagePlacement::Assets => {
                let mut assets = JsonObject::new();
                for (index, image) in images.iter().enumerate() {
                    let format = match image.mime_type.as_str() {
                        "image/png" => "png",
                        "image/jpeg" => "jpeg",
                        other => return reject(format!("accepts PNG and JPEG, not {other}")),
                    };
                    let data = &image.data;
                    assets.insert(
                        format!("<image-{}>", index + 1),
                        json!({"type": "image", "format": format, "data_base64": data}),
                    );
                }
                let names = assets.keys().cloned().map(Value::String);
                let state = names.chain([context.state.clone()]).collect();
                request.insert("state".to_owned(), Value::Array(state));
                request.insert("assets".to_owned(), Value::Object(assets));
            }
        }
        Ok(())
    }

    /// Returns the part of a response that holds the answers.
    pub(super) fn output(self, response: &Value) -> Result<&Value, ProviderError> {
        if self == Self::Direct {
            return Ok(response);
        }
        if response["success"] == false {
            let errors = response["errors"].as_array().into_iter().flatten();
            let errors = errors.filter_map(|error| error["message"].as_str());
            let errors: Vec<&str> = errors.collect();
            let message = format!(
                "{} rejected the request: {}",
                self.name(),
                errors.join("; ")
            );
            return Err(ProviderError::invalid(message));
        }
        let result = &response["result"];
        if result.get("answers").is_some() {
            return Ok(result);
        }
        if result["state"] != "Completed" {
            let state = format!("the run did not complete (state {})", result["state"]);
            return Err(unexpected(self.name(), &state));
        }
        Ok(&result["result"])
    }

    pub(super) fn answers(
        self,
        output: &Value,
        context: &ClassificationContext,
    ) -> Result<Vec<(String, ClassifierAnswer)>, ProviderError> {
        let answers = output["answers"].as_object();
        let answers = answers.ok_or_else(|| unexpected(self.name(), "it has no answers"))?;
        let read = |(name, question): &(String, Question)| {
            let answer = answers.get(name).unwrap_or(&Value::Null);
            let answer = self.answer(name, question, answer)?;
            Ok((name.clone(), answer))
        };
        context.questions.iter().map(read).collect()
    }

    fn answer(
        self,
        name: &str,
        question: &Question,
        answer: &Value,
    ) -> Result<ClassifierAnswer, ProviderError> {
        let number =
            |value: &Value, what: &str| number(value, self.name(), &format!("{what} of {name}"));
        let kind = answer["type"].as_str().unwrap_or_default();
        match (question, kind) {
            (Question::Choice { .. }, "choice") => {
                let choice = answer["choice"].as_str();
                let choice = choice
                    .ok_or_else(|| unexpected(self.name(), &format!("{name} has no choice")))?;
                let listed = answer["probabilities"].as_object();
                let listed = listed.ok_or_else(|| {
                    unexpected(self.name(), &format!("{name} has no probabilities"))
                })?;
                let mut probabilities = JsonObject::new();
                for (key, value) in listed {
                    probabilities.insert(key.clone(), number(value, "probability")?.into());
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
            (Question::Bool { .. }, "noul") => Ok(ClassifierAnswer::Bool {
                probability: number(&answer["noul"], "probability")?,
            }),
            _ => Err(unexpected(
                self.name(),
                &format!("{name} has no fitting answer"),
            )),
        }
    }
}
