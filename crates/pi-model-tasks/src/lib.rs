//! Models that do not chat: classifiers answer questions about data, image models draw.
//!
//! [`task_models`] lists them. [`classify`] and [`generate_images`] call them with the credentials, headers and base
//! URLs that [`pi_providers::Models`] resolves for the provider. Both return a result in any case: a failure has a
//! `stop_reason` and an error message.

mod catalog;
mod classification;
mod definitions;
mod images;
mod post;
mod provider;

pub use catalog::{
    TaskModel, builtin_task_models, find_task_model, image_definition_problem, task_models,
};
pub use classification::{
    Classification, ClassificationContext, ClassifierAnswer, Question, classify,
};
pub use images::{GeneratedImages, ImageContext, ImageInput, generate_images};
pub use post::TaskOptions;
pub use provider::register_providers;
