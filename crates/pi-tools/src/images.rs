//! Makes images fit for a model.

/// How images are treated on their way to the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImagePolicy {
    /// The largest image to send; `None` sends images in the size they have.
    pub limits: Option<ImageLimits>,
    /// The model of the moment sees images.
    pub model_sees_images: bool,
}

impl Default for ImagePolicy {
    fn default() -> Self {
        Self {
            limits: Some(ImageLimits::default()),
            model_sees_images: true,
        }
    }
}

/// The largest image to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImageLimits {
    /// Pixels.
    pub max_width: u32,
    /// Pixels.
    pub max_height: u32,
    /// Bytes of the base64 text must stay below this.
    pub max_bytes: u64,
    /// The JPEG quality tried first, 1 to 100.
    pub jpeg_quality: u8,
}

impl Default for ImageLimits {
    fn default() -> Self {
        Self {
            max_width: 2000,
            max_height: 2000,
            // Half a mebibyte below the lowest limit of a provider.
            max_bytes: 4 * 1024 * 1024 + 512 * 1024,
            jpeg_quality: 80,
        }
    }
}
