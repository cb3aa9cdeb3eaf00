//! Models to cycle through.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::model::Model;
use crate::thinking::ThinkingLevel;

/// A model in a scope, with the thinking level from its pattern.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScopedModel {
    pub model: Arc<Model>,
    pub thinking: Option<ThinkingLevel>,
}
