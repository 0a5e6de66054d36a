# Template: a release fills in @URL@ and @SHA256@ and publishes the result in the tap.
class McpPruner < Formula
  desc "@DESCRIPTION@"
  homepage "@HOMEPAGE@"
  url "@URL@"
  sha256 "@SHA256@"
  license "MIT"

  depends_on "node"

  def install
    system "npm", "install", *std_npm_args
    bin.install_symlink libexec.glob("bin/*")
  end

  service do
    run [opt_bin/"mcp-pruner", "serve"]
    keep_alive true
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/mcp-pruner --version")
  end
end
