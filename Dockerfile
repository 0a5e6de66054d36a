# syntax=docker/dockerfile:1
ARG NODE_VERSION=22

# Build: from Node 22 on SQLite's driver brings its binary, so that no script has to run and nothing is compiled.
FROM node:${NODE_VERSION}-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
COPY packages ./packages
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json ./
COPY build ./build
COPY src ./src
RUN npm run build && npm prune --omit=dev --ignore-scripts --no-audit --no-fund

# Run: Node, the built program, its libraries, and a user that owns nothing but the data.
FROM node:${NODE_VERSION}-bookworm-slim
ENV NODE_ENV=production \
    MCP_PRUNER_HOST=0.0.0.0 \
    MCP_PRUNER_PORT=8006 \
    MCP_PRUNER_DB_PATH=/data/store.db \
    MCP_PRUNER_LOCAL_TOKEN=auto
WORKDIR /app
COPY package.json LICENSE ./
COPY config ./config
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
RUN install -d -o node -g node -m 0700 /data
USER node
VOLUME /data
EXPOSE 8006
# Readiness is what /health says, never how long it took or what was logged.
HEALTHCHECK --interval=15s --timeout=5s --start-period=20s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.MCP_PRUNER_PORT}/health`).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
# The address lets other machines in, so callers of /rpc, /prune and /metrics send a token: MCP_PRUNER_AUTH_TOKEN, else the
# one that the first start leaves in /data/local-token.
ENTRYPOINT ["node", "/app/dist/cli.js"]
CMD ["serve"]
