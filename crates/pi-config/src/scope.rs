//! Whose files: the user's or the project's, and whether the project's may take effect.

/// Whose settings or resources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// The user's, under the agent directory.
    User,
    /// The project's, under `.pi` in its folder.
    Project,
}

/// Whether the project's own files may take effect. Nothing of a project is read for effect
/// before this is [`ProjectAccess::Trusted`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProjectAccess {
    /// The user trusts the project.
    Trusted,
    /// The user does not, or has not been asked.
    Refused,
}

impl ProjectAccess {
    /// Tells whether the project's files may take effect.
    pub fn is_trusted(self) -> bool {
        self == Self::Trusted
    }
}
