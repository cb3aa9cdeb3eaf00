//! The blocks of the transcript, one file each.
//!
//! They turn messages and events into lines. When they are made and updated is the business of
//! [`Transcript`](crate::transcript::Transcript).

mod assistant;
mod bash_execution;
mod cost;
mod custom;
mod drawer;
mod earlier;
mod growing_code;
mod links;
mod notice;
mod page;
mod picture;
mod skill;
mod summary;
#[cfg(test)]
mod tests;
mod tool_call;
mod tools;
mod user;

pub(crate) use assistant::AnswerBlock;
pub(crate) use bash_execution::BashExecutionBlock;
pub(crate) use cost::{CostBlock, CostNotice};
pub(crate) use custom::CustomBlock;
pub(crate) use drawer::{CallDrawer, CustomDrawer, Wording};
pub(crate) use earlier::EarlierBlock;
pub(crate) use links::LinksBlock;
pub(crate) use notice::NoticeBlock;
pub(crate) use page::{Page, clean, clean_line};
pub(crate) use skill::{SkillBlock, SkillCall};
pub(crate) use summary::{Summarized, SummaryBlock};
pub(crate) use tool_call::ToolCallBlock;
pub(crate) use user::UserBlock;
