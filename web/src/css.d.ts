declare module "*.css"; // esbuild gathers style sheets into app.css
