//! TLS for the sockets of extensions, those of the web too: aws-lc, with the trust of the platform.

use std::sync::{Arc, OnceLock};

use rustls::ClientConfig;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::ServerName;
use rustls_platform_verifier::BuilderVerifierExt as _;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::NativeError;

/// Made with the first connection; the platform's roots are read then.
static CONFIGURATION: OnceLock<Result<Arc<ClientConfig>, String>> = OnceLock::new();

fn configuration() -> Result<Arc<ClientConfig>, NativeError> {
    let made = CONFIGURATION.get_or_init(|| {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .and_then(|builder| Ok(builder.with_platform_verifier()?.with_no_client_auth()))
            .map_err(|error| error.to_string())?;
        Ok(Arc::new(config))
    });
    made.clone()
        .map_err(|error| NativeError::new(format!("TLS could not be set up: {error}")))
}

/// Shakes hands with a server of this name.
pub(super) async fn handshake(
    stream: TcpStream,
    server: &str,
    protocols: &[String],
) -> Result<TlsStream<TcpStream>, NativeError> {
    let name = ServerName::try_from(server.to_owned()).map_err(|_invalid| {
        NativeError::new(format!("{server} is no name of a server"))
            .with_code("ERR_INVALID_ARG_VALUE")
    })?;
    let mut config = configuration()?;
    if !protocols.is_empty() {
        let protocols = protocols.iter().map(|it| it.clone().into_bytes());
        Arc::make_mut(&mut config).alpn_protocols = protocols.collect();
    }
    let connector = TlsConnector::from(config);
    connector.connect(name, stream).await.map_err(|error| {
        let refused = error
            .get_ref()
            .and_then(|it| it.downcast_ref::<rustls::Error>());
        match refused {
            Some(rustls::Error::InvalidCertificate(why)) => NativeError::new(format!(
                "the certificate of {server} is not trusted: {why:?}"
            ))
            .with_code("UNABLE_TO_VERIFY_LEAF_SIGNATURE"),
            Some(other) => NativeError::new(other.to_string()).with_code("EPROTO"),
            None => NativeError::from_io(&error, "connect", Some(server)),
        }
    })
}
