//! A certificate authority for tests.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::TlsAcceptor;

static AUTHORITIES: AtomicUsize = AtomicUsize::new(0);

/// A certificate authority, generated for each test and trusted only by clients that are given its certificate.
pub struct TestCertAuthority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl fmt::Debug for TestCertAuthority {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("TestCertAuthority")
    }
}

impl Default for TestCertAuthority {
    fn default() -> Self {
        Self::new()
    }
}

impl TestCertAuthority {
    pub fn new() -> Self {
        let mut params = CertificateParams::new([]).unwrap();
        // Names are unique: two authorities with the same name would be indistinguishable until a signature is checked.
        let number = AUTHORITIES.fetch_add(1, Ordering::Relaxed);
        let name = format!("Test authority {number}");
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        Self {
            issuer: CertifiedIssuer::self_signed(params, key).unwrap(),
        }
    }

    /// Returns the authority's certificate in DER, for a client's trust store.
    pub fn certificate(&self) -> Vec<u8> {
        self.issuer.der().to_vec()
    }

    /// Returns a TLS acceptor with a certificate for `localhost`, `127.0.0.1` and `api.example.test`.
    pub fn acceptor(&self) -> TlsAcceptor {
        let names = ["localhost", "127.0.0.1", "api.example.test"].map(str::to_owned);
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(names).unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let mut config = ServerConfig::builder_with_provider(aws_lc_rs::default_provider().into())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .unwrap();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        TlsAcceptor::from(Arc::new(config))
    }
}
