//! Who we are to a model service: stored credentials, and how a request's key is found.
//!
//! [`Credential`] is one entry of `auth.json`, [`CredentialStore`] the place such entries live (the
//! file is `pi-config`'s), [`ProviderAuth`] what a provider accepts, and [`Authenticator`] joins
//! the three into the [`ResolvedAuth`] of a request. Signing in is [`crate::oauth`]'s.

mod authenticator;
mod credential;
mod error;
mod key_entry;
mod provider_auth;
mod refresh;
mod store;
#[cfg(test)]
mod testing;
mod value_template;

pub use authenticator::{AuthOverrides, AuthSource, AuthStatus, Authenticator, ResolvedAuth};
pub use credential::{
    ApiKeyCredential, AuthKind, Credential, CredentialShapeError, OAuthCredential,
};
pub use error::{AuthError, FilePosition, ValueTemplateError};
pub use provider_auth::{ApiKeyAuth, ConfiguredAuth, KeySource, ProviderAuth};
pub use store::{
    AllCredentials, CredentialInfo, CredentialStore, InMemoryCredentialStore, LockedCredential,
};
pub use value_template::{CommandCache, CommandReuse, ValueTemplate};
