// A provider that fails, as a server does that is down.
module.exports = class {
  id() {
    return 'failing';
  }
  async callApi() {
    return { error: 'the server said 503' };
  }
};
