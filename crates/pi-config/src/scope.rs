//! Whose files: the user's or the project's, and whether the project's may take effect.

/// Whose settings or resources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ConfigScope {
    /// The user's, under the agent directory.
    User,
    /// The project's, under `.pi` in its directory.
    Project,
}

/// Whether the project's own files may take effect. Nothing of a project is read for effect
/// before this is [`ProjectAccess::Trusted`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProjectAccess {
    /// The user trusts the project.
    Trusted,
    /// Nobody has decided yet. Nothing of the project takes effect, but its context files are
    /// still read as text for the model.
    Undecided,
    /// The user does not trust the project: even its context files stay out.
    Denied,
}

impl ProjectAccess {
    /// Returns whether the project's files may take effect.
    pub fn is_trusted(self) -> bool {
        self == Self::Trusted
    }

    /// Returns whether the user has decided against the project.
    pub fn is_denied(self) -> bool {
        self == Self::Denied
    }
}
