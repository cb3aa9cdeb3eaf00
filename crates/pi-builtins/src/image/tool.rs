//! The tool `image`.

use std::fmt::Write as _;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_core::{Tool, ToolOrigin};
use pi_host::{RegisteredTool, ToolContext, ToolError};
use pi_model_tasks::{GeneratedImages, ImageContext, ImageInput, TaskOptions, generate_images};
use pi_protocol::json::JsonObject;
use pi_protocol::{
    ImageContent, InputBlock, Modality, StopReason, Tool as ToolDeclaration, ToolOutput,
};
use pi_tools::{ImageError, ImageResizeLimits, MutationQueue, prepare_image};
use serde::Deserialize;
use serde_json::{Value, json};

use super::ModelChoice;
use super::files::{Picture, check_new, read_picture, write_picture};

const NAME: &str = "image";

/// Input images of a call.
const MAX_INPUT: usize = 8;

/// Width and height of what the model sees of a picture.
const PREVIEW_SIZE: u32 = 768;

pub(super) struct ImageTool {
    declaration: ToolDeclaration,
    choice: Arc<ModelChoice>,
    /// Calls of a session do not take the same name.
    queue: MutationQueue,
}

#[derive(Deserialize)]
struct ImageArguments {
    prompt: String,
    #[serde(default)]
    input: Vec<String>,
    path: Option<String>,
}

impl ImageTool {
    pub(super) fn new(choice: Arc<ModelChoice>) -> Self {
        let declaration = ToolDeclaration {
            name: NAME.to_owned(),
            description: "Generate an image from a description and write it to a new file. Returns the path and a preview. \
                Existing files are never overwritten."
                .to_owned(),
            parameters: json!({
                "type": "object",
                "required": ["prompt"],
                "properties": {
                    "prompt": {"type": "string", "description": "What the image shows, in detail; or how to change the input images"},
                    "input": {
                        "type": "array",
                        "items": {"type": "string"},
                        "maxItems": MAX_INPUT,
                        "description": "Paths of images to change or to use (optional)",
                    },
                    "path": {"type": "string", "description": "Path of the new file (optional, by default image-<n>.png in the working directory)"},
                },
            }),
            constrained_sampling: None,
            extra: JsonObject::new(),
        };
        Self {
            declaration,
            choice,
            queue: MutationQueue::default(),
        }
    }

    /// Returns the tool with what the system prompt says about it.
    pub(super) fn registered(self) -> RegisteredTool {
        let mut tool = RegisteredTool {
            origin: ToolOrigin::Extension,
            snippet: Some("Generate an image file".to_owned()),
            ..RegisteredTool::new(Arc::new(self))
        };
        tool.metadata.builtin_extension = Some(NAME);
        tool
    }

    async fn run(&self, cx: ToolContext, arguments: JsonObject) -> Result<ToolOutput, ToolError> {
        let arguments: ImageArguments = pi_protocol::json::from_value(&Value::Object(arguments))
            .map_err(|error| ToolError::new(format!("Invalid arguments: {error}")))?;
        let model = self.choice.model().map_err(ToolError::new)?;
        if let Some(path) = &arguments.path {
            check_new(&cx, path).await?;
        }
        let mut input = vec![ImageInput::Text {
            text: arguments.prompt,
        }];
        if !arguments.input.is_empty() {
            self.check_input(&arguments.input, &model.input)?;
        }
        for path in &arguments.input {
            input.push(read_picture(&cx, path).await?);
        }
        let options = TaskOptions {
            cancel: cx.cancel.clone(),
            ..TaskOptions::default()
        };
        let context = ImageContext { input };
        let drawn = generate_images(&self.choice.models, &model, &context, &options).await;
        if drawn.stop_reason == StopReason::Aborted {
            return Err(ToolError::new("Operation aborted"));
        }
        let path = arguments.path.as_deref();
        let mut output = match self.write(&cx, &drawn, path).await {
            Ok(output) => output,
            Err(ToolError(message)) => ToolOutput {
                is_error: Some(true),
                ..ToolOutput::text(message)
            },
        };
        // A request that fails may have a price, too.
        output.usage = drawn.usage;
        Ok(output)
    }

    fn check_input(&self, input: &[String], accepted: &[Modality]) -> Result<(), ToolError> {
        if input.len() > MAX_INPUT {
            return Err(ToolError::new(format!(
                "At most {MAX_INPUT} input images are allowed"
            )));
        }
        if self.choice.settings.settings().images.block_images() {
            return Err(ToolError::new(
                "The setting images.blockImages does not allow input images",
            ));
        }
        if !accepted.contains(&Modality::Image) {
            return Err(ToolError::new("The image model accepts no input images"));
        }
        Ok(())
    }

    /// Writes the pictures of a response, and describes them.
    async fn write(
        &self,
        cx: &ToolContext,
        drawn: &GeneratedImages,
        path: Option<&str>,
    ) -> Result<ToolOutput, ToolError> {
        let mut text = String::new();
        let mut previews = Vec::new();
        let mut paths = Vec::new();
        let pictures = drawn.output.iter().filter_map(|block| match block {
            ImageInput::Image { mime_type, data } => Picture::new(mime_type, data),
            ImageInput::Text { .. } => None,
        });
        for picture in pictures {
            // A picture that cannot be decoded in bounded memory is not written.
            let preview = preview(cx, picture.clone()).await?;
            let path = write_picture(cx, &self.queue, path, &picture).await?;
            let size = picture.bytes.len();
            let kind = &picture.mime_type;
            // Writing to a string does not fail.
            writeln!(
                text,
                "Wrote {path} ({kind}, {size} bytes) with {}/{}",
                drawn.provider, drawn.model
            )
            .ok();
            paths.push(json!({"path": path, "mimeType": kind, "size": size}));
            previews.push(preview);
        }
        if let Some(error) = &drawn.error_message {
            let error = format!("{text}{error}");
            return Err(ToolError::new(error));
        }
        if paths.is_empty() {
            let mut words = drawn.output.iter().filter_map(|block| match block {
                ImageInput::Text { text } => Some(text.as_str()),
                ImageInput::Image { .. } => None,
            });
            let words = words.next().unwrap_or("it gives no reason");
            return Err(ToolError::new(format!(
                "The model returned no image: {words}"
            )));
        }
        let mut output = ToolOutput::text(text.trim_end());
        output.content.extend(previews);
        output.details = Some(json!({"images": paths}));
        output.structured_content = Some(json!({"images": paths}));
        Ok(output)
    }
}

/// Returns a small version for the model and the screen.
async fn preview(cx: &ToolContext, picture: Picture) -> Result<InputBlock, ToolError> {
    let cancel = cx.cancel.clone();
    let limits = ImageResizeLimits {
        max_width: PREVIEW_SIZE,
        max_height: PREVIEW_SIZE,
        ..ImageResizeLimits::default()
    };
    let prepared = tokio::task::spawn_blocking(move || {
        prepare_image(&picture.bytes, &picture.mime_type, Some(limits), &cancel)
    });
    let prepared = prepared.await.unwrap_or(Err(ImageError::Unreadable));
    let prepared = prepared.map_err(|error| match error {
        ImageError::Canceled => ToolError::new("Operation aborted"),
        error => ToolError::new(format!("The image of the response is not usable. {error}")),
    })?;
    Ok(InputBlock::Image(ImageContent::new(
        prepared.data,
        prepared.media_type,
    )))
}

impl Tool for ImageTool {
    fn declaration(&self) -> &ToolDeclaration {
        &self.declaration
    }

    fn call(
        &self,
        cx: ToolContext,
        arguments: JsonObject,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(self.run(cx, arguments))
    }
}
