//! The encrypted connection: whom we trust, and who we are.

use std::io;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto};

/// The protocol on top of it, as the handshake names it.
const HTTP2: &[u8] = b"h2";

/// How to talk to servers whose certificates one authority has signed.
#[derive(Clone)]
pub struct Tls(Arc<ClientConfig>);

impl Tls {
    /// All as PEM: the authority's certificates, and ours with its key if servers want to see one.
    ///
    /// # Errors
    /// What is wrong with which of them.
    pub fn new(cacert: &[u8], identity: Option<(&[u8], &[u8])>) -> Result<Self, String> {
        let mut roots = RootCertStore::empty();
        let (_, _) = roots.add_parsable_certificates(certificates(cacert, "cacert")?);
        let provider = Arc::new(crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider);
        let builder = builder.with_safe_default_protocol_versions().map_err(|it| it.to_string())?;
        let builder = builder.with_root_certificates(roots);
        let mut config = match identity {
            None => builder.with_no_client_auth(),
            Some((cert, key)) => {
                let key = PrivateKeyDer::from_pem_slice(key);
                let key = key.map_err(|error| format!("the key cannot be read: {error}"))?;
                let chain = certificates(cert, "certificate")?;
                builder.with_client_auth_cert(chain, key).map_err(|it| it.to_string())?
            }
        };
        config.alpn_protocols.push(HTTP2.to_vec());
        Ok(Self(Arc::new(config)))
    }

    /// Encrypts a connection to `host`, which must prove that it is that.
    pub async fn secure<T>(&self, host: &str, stream: T) -> io::Result<TlsStream<T>>
    where
        T: AsyncRead + AsyncWrite + Unpin,
    {
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let name = ServerName::try_from(host).map_err(io::Error::other)?;
        let stream = TlsConnector::from(Arc::clone(&self.0)).connect(name, stream).await?;
        match stream.get_ref().1.alpn_protocol() {
            Some(HTTP2) => Ok(stream),
            _ => Err(io::Error::other("it does not speak HTTP/2")),
        }
    }
}

fn certificates(pem: &[u8], what: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let all = CertificateDer::pem_slice_iter(pem).collect::<Result<_, _>>();
    all.map_err(|error| format!("the {what} cannot be read: {error}"))
}
