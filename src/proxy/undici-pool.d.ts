declare module 'undici/lib/dispatcher/pool.js' {
  export { Pool as default } from 'undici';
}
