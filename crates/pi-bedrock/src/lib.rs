//! AWS Bedrock's `ConverseStream`: one API for the models of many vendors.
//!
//! A separate crate, because only Bedrock needs the AWS SDK, which loads credentials and signs
//! requests. `converse` implements the protocol, `endpoint` resolves the URL, `request` builds the
//! body, and `event_stream` and `decode` decode the response. Register it with
//! [`pi_providers::ModelsOptions`]:
//!
//! ```
//! use pi_providers::{Models, ModelsOptions};
//!
//! let models = Models::new(ModelsOptions {
//!     wire_apis: vec![pi_bedrock::wire_api()],
//!     ..ModelsOptions::default()
//! });
//! assert!(models.provider("amazon-bedrock").is_some());
//! ```

mod aws_http;
mod capabilities;
mod converse;
mod credentials;
mod decode;
mod endpoint;
mod error;
mod event_stream;
#[cfg(test)]
mod handoff_matrix;
mod request;
mod signature;
#[cfg(test)]
mod tests;
mod thinking;

use pi_protocol::api;
use pi_providers::wire::WireApi;

pub use converse::BedrockConverse;
#[doc(hidden)]
pub use event_stream::read_frames;

/// Returns the Converse API for [`pi_providers::ModelsOptions::wire_apis`].
pub fn wire_api() -> WireApi {
    WireApi::new(api::BEDROCK_CONVERSE_STREAM, BedrockConverse::default())
}
