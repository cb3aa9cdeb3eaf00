//! Errors of operations as rejections: a code for programs, and the text for the user.

use std::error::Error;

use pi_config::SettingsError;
use pi_core::AnswerError;
use pi_export::ListingError;
use pi_protocol::{Rejected, RejectionCode, describe_error};
use pi_session::SessionError;

use crate::exporter::ExporterError;
use crate::runtime::ReplaceError;
use crate::session::{
    BashError, CompactError, NavigateError, PromptError, SetModelError, UndoCompactionError,
};
use pi_search::SessionSearchError;

/// An error that rejects a command.
pub(super) trait RejectionReason: Error + 'static {
    fn code(&self) -> RejectionCode;

    fn reject(self) -> Rejected
    where
        Self: Sized,
    {
        Rejected::new(self.code(), describe_error(&self))
    }
}

impl RejectionReason for PromptError {
    fn code(&self) -> RejectionCode {
        match self {
            Self::Busy => RejectionCode::Busy,
            Self::Compacting => RejectionCode::Compacting,
            Self::NoModel | Self::UnknownProvider { .. } | Self::NoCredential { .. } => {
                RejectionCode::NoModel
            }
            Self::CommandNotQueueable { .. } => RejectionCode::Invalid,
            Self::Canceled => RejectionCode::Canceled,
            Self::Closed => RejectionCode::Closed,
            Self::Session(error) => error.code(),
            Self::Auth(_) | Self::Crashed => RejectionCode::Failed,
        }
    }
}

impl RejectionReason for SessionError {
    fn code(&self) -> RejectionCode {
        match self {
            Self::Missing { .. } | Self::UnknownEntry { .. } => RejectionCode::NotFound,
            _ => RejectionCode::Failed,
        }
    }
}

impl RejectionReason for UndoCompactionError {
    fn code(&self) -> RejectionCode {
        match self {
            Self::NoCompaction | Self::NothingBefore => RejectionCode::NotFound,
            Self::Continued | Self::TooLarge { .. } => RejectionCode::Invalid,
            Self::Canceled => RejectionCode::Canceled,
            Self::Navigate(error) => error.code(),
        }
    }
}

impl RejectionReason for SessionSearchError {
    fn code(&self) -> RejectionCode {
        match self {
            Self::TurnedOff | Self::EmptyQuery => RejectionCode::Invalid,
            Self::Index(_) => RejectionCode::Failed,
        }
    }
}

impl RejectionReason for ListingError {
    fn code(&self) -> RejectionCode {
        match self {
            Self::UnknownEntry(_) => RejectionCode::NotFound,
            Self::Session(error) => error.code(),
        }
    }
}

impl RejectionReason for ReplaceError {
    fn code(&self) -> RejectionCode {
        match self {
            Self::MissingFile(_) | Self::MissingCwd { .. } => RejectionCode::NotFound,
            Self::Session(error) => error.code(),
            Self::Ended | Self::Closed(_) => RejectionCode::Closed,
            Self::NotStarted(_) => RejectionCode::Failed,
        }
    }
}

impl RejectionReason for SetModelError {
    fn code(&self) -> RejectionCode {
        match self {
            Self::Unavailable { .. } => RejectionCode::NoModel,
            Self::Session(error) => error.code(),
            Self::Settings(error) => error.code(),
        }
    }
}

impl RejectionReason for CompactError {
    fn code(&self) -> RejectionCode {
        match self {
            Self::NoModel => RejectionCode::NoModel,
            Self::Nothing(_) => RejectionCode::Invalid,
            Self::Cancelled => RejectionCode::Canceled,
            Self::Session(error) => error.code(),
            Self::Summary(_) | Self::Route(_) | Self::Crashed => RejectionCode::Failed,
        }
    }
}

impl RejectionReason for BashError {
    fn code(&self) -> RejectionCode {
        match self {
            Self::Closed => RejectionCode::Closed,
            Self::Session(error) => error.code(),
            Self::Stopped(_) | Self::Process(_) | Self::Crashed => RejectionCode::Failed,
        }
    }
}

impl RejectionReason for AnswerError {
    fn code(&self) -> RejectionCode {
        match self {
            Self::Unknown | Self::AlreadyAnswered => RejectionCode::NotFound,
            Self::Invalid { .. } => RejectionCode::Invalid,
        }
    }
}

impl RejectionReason for NavigateError {
    fn code(&self) -> RejectionCode {
        match self {
            Self::Busy => RejectionCode::Busy,
            Self::Compacting => RejectionCode::Compacting,
            Self::NoModel => RejectionCode::NoModel,
            Self::Session(error) => error.code(),
            Self::Summary(_) | Self::Route(_) => RejectionCode::Failed,
        }
    }
}

impl RejectionReason for SettingsError {
    fn code(&self) -> RejectionCode {
        RejectionCode::Failed
    }
}

impl RejectionReason for ExporterError {
    fn code(&self) -> RejectionCode {
        RejectionCode::Failed
    }
}

impl RejectionReason for serde_json::Error {
    fn code(&self) -> RejectionCode {
        RejectionCode::Failed
    }
}
