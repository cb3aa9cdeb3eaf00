//! Credentials and sign-in: what authenticates a request to a provider, and how a user obtains it.
//!
//! [`Credential`] is one stored entry and [`CredentialStore`] holds them. [`Authenticator`] resolves
//! the credential of a request and refreshes expired tokens; an [`OAuthFlow`] signs in. Which
//! provider uses which flow is decided by the crate above.
//!
//! ```
//! use pi_auth::{Credential, CredentialStore, InMemoryCredentialStore};
//! use pi_protocol::AuthKind;
//!
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! let store = InMemoryCredentialStore::default();
//! store.put("anthropic", Credential::api_key("secret")).await?;
//! let stored = store.read("anthropic").await?;
//! assert_eq!(stored.map(|credential| credential.kind()), Some(AuthKind::ApiKey));
//! # Ok::<(), pi_auth::AuthError>(())
//! # }).unwrap();
//! ```

mod credentials;
mod google_credentials;
mod oauth;

pub use credentials::{
    AllCredentials, ApiKeyAuth, ApiKeyCredential, AuthError, AuthOverrides, Authenticator,
    CommandCache, CommandReuse, ConfiguredAuth, Credential, CredentialInfo, CredentialShapeError,
    CredentialStore, FilePosition, InMemoryCredentialStore, KeySource, LockedCredential,
    OAuthCredential, ProviderAuth, ResolvedAuth, SignInRequest, ValueTemplate, ValueTemplateError,
};
pub use google_credentials::{GoogleCredentials, GoogleToken};
pub use oauth::{
    AnthropicFederation, AnthropicOAuth, AuthorizationCode, CallbackRoute, CallbackServer,
    GithubCopilotOAuth, KimiCodingOAuth, LoginInteraction, MetaOAuth, OAuthContext, OAuthError,
    OAuthFlow, OAuthRequestAuth, OpenAiChatGptOAuth, OpenAiCodexOAuth, OpenRouterOAuth, Pkce,
    RadiusOAuth, XaiOAuth, codex_account,
};
