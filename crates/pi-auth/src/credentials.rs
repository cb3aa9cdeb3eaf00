//! Stored credentials and per-request authentication.
//!
//! [`Credential`] is one entry of `auth.json`. [`CredentialStore`] stores the entries (`pi-config`
//! implements it for the file). [`ProviderAuth`] describes what a provider accepts.
//! [`Authenticator`] combines the three into the [`ResolvedAuth`] of a request. Sign-in flows are
//! in [`crate::oauth`].

mod authenticator;
mod credential;
mod error;
mod key_prompt;
mod provider_auth;
mod refresh;
mod store;
#[cfg(test)]
mod testing;
mod value_template;

pub use authenticator::{AuthOverrides, Authenticator, ResolvedAuth, SignInRequest};
pub use credential::{ApiKeyCredential, Credential, CredentialShapeError, OAuthCredential};
pub use error::{AuthError, FilePosition, ValueTemplateError};
pub use provider_auth::{ApiKeyAuth, ConfiguredAuth, KeySource, ProviderAuth};
pub use store::{
    AllCredentials, CredentialInfo, CredentialStore, InMemoryCredentialStore, LockedCredential,
};
pub use value_template::{CommandCache, CommandReuse, ValueTemplate};
