import { render } from 'preact';
import { Shell } from './shell.tsx';

const place = document.getElementById('app');
if (place) render(<Shell />, place);
