//! The transcript blocks, one file each.
//!
//! They turn messages and events into lines. [`Transcript`](crate::transcript::Transcript) creates and
//! updates them.

mod assistant;
mod bash_execution;
pub(crate) mod block;
mod cost;
mod custom;
mod earlier;
mod extension_renderer;
mod file_links;
mod links;
mod notice;
mod skill;
mod summary;
#[cfg(test)]
mod tests;
mod tool_call;
mod user;

pub(crate) use assistant::AssistantMessageBlock;
pub(crate) use bash_execution::BashExecutionBlock;
pub(crate) use cost::{CostBlock, CostNotice};
pub(crate) use custom::CustomBlock;
pub(crate) use earlier::EarlierBlock;
pub(crate) use extension_renderer::{CallRenderer, CustomRenderer, StoredEntry, TextTransform};
pub(crate) use links::LinksBlock;
pub(crate) use notice::NoticeBlock;
pub(crate) use pi_views::canvas::{BlockCanvas, clean, clean_line};
pub(crate) use skill::{SkillBlock, SkillCall};
pub(crate) use summary::{Summarized, SummaryBlock};
pub(crate) use tool_call::ToolCallBlock;
pub(crate) use user::UserBlock;
